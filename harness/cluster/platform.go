package cluster

import (
	"context"
	"fmt"
	"log/slog"
)

// Names of platforms in plans.
const (
	OnProcess = "process" // child processes of this process, which a nil Platform stands for
	OnDocker  = "docker"  // containers on the host's network, on Linux: see harness/cluster/docker
)

// Platform is something that nodes can run on, such as Docker. A nil Platform stands for processes of this machine.
// This package imports no platform: a program imports the ones that it wants.
type Platform interface {
	// String returns the platform's name in plans, such as OnDocker.
	String() string
	// Find checks that nodes can run on the platform now. It fetches what they run from, such as an image, if that is
	// missing. It may log a choice that could surprise. Its errors say what to do.
	Find(ctx context.Context, log *slog.Logger) (Site, error)
}

// NotLinked returns a stand-in for a platform that was requested by name but is not linked into the program. Its Find
// returns an error that says so.
func NotLinked(name string) Platform { return notLinked(name) }

type notLinked string

func (n notLinked) String() string { return string(n) }

func (n notLinked) Find(context.Context, *slog.Logger) (Site, error) {
	return nil, fmt.Errorf("this program cannot run nodes on %s: it was built without it (import harness/cluster/%s "+
		"and hand it in), use the doublegrant command, or processes", n, n)
}

// Site is a Platform that was found. Its methods are safe for concurrent use.
type Site interface {
	// String returns what nodes run from, such as the name of an image.
	String() string
	// NewHost returns the host of one node. It starts nothing and makes no container yet.
	NewHost(HostOptions) Host
	// Watch makes sure that all hosts of the cluster in the folder are removed if this process dies before it calls
	// forget.
	Watch(folder string) (forget func(), err error)
	// RemoveAll removes all hosts of the cluster in the folder, including those that are still being made. It has its
	// own timeout.
	RemoveAll(ctx context.Context, folder string) error
	// Leftovers lists the hosts of all clusters, of any owner. It does not set Owned, which the caller does.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// Remove kills and removes a host that Leftovers listed. It is not an error if the host is gone.
	Remove(ctx context.Context, l Leftover) error
}

// HostOptions describes the node that a Host runs.
type HostOptions struct {
	Name  string   // name of the node, such as "r1"
	Args  []string // arguments of redis-server
	Env   []string // additions to the environment, each NAME=value
	Log   string   // path of the file to which the node's output is appended
	Files int64    // number of files that the node may open; 0: the platform's default
	Owner Owner    // owner of the node, which sees Owner.Folder under the same path, with its configuration and data
}

// Owner identifies the run that a host belongs to, so that hosts of a dead run can be recognized.
type Owner struct {
	Folder  string // path of the cluster's folder
	Subnet  string // subnet of the cluster, such as 127.17.0.0/16
	Process string // process that made the host: its id and the time of its start
}

// Host runs one node. Its methods are safe for concurrent use. For a node that was never started, all methods but Make,
// Start, Kill, Running and Remove return an error.
type Host interface {
	// Make makes the host without starting the node. Start calls it if needed. Making several hosts concurrently saves
	// time.
	Make(ctx context.Context) error
	// Start starts the node with the configuration in its folder, which the node may have rewritten. It returns once the
	// node runs, which is before the node answers. ended is closed when the node has ended for any reason.
	Start(ctx context.Context) (ended <-chan struct{}, err error)
	// Kill ends the node with SIGKILL, even if it is paused, and returns when it is gone. It is not an error if the
	// node is already gone.
	Kill() error
	// Terminate asks the node to shut down (SIGTERM), and returns when it is gone.
	Terminate(ctx context.Context) error
	// Pause suspends the node, as SIGSTOP does, and returns when it is suspended.
	Pause(ctx context.Context) error
	// Resume ends a pause. It does nothing if the node is not paused.
	Resume() error
	// Running reports whether the node was started and has not ended.
	Running() bool
	// Remove kills the node and removes what the platform keeps of it, but not its log and working folder.
	Remove() error
}
