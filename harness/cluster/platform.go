package cluster

import (
	"context"
	"fmt"
	"log/slog"
)

// The names of platforms in plans.
const (
	OnProcess = "process" // child processes of this one: a nil Platform
	OnDocker  = "docker"  // containers on the host's network, on Linux: see harness/cluster/docker
)

// Platform is something else than processes of this machine that nodes can run on. This package knows none: a program that
// asks for one imports it, and with it what it is made of.
type Platform interface {
	// String is its name in plans, such as OnDocker.
	String() string
	// Find looks whether nodes can run on it now, and fetches what they run from if it is not here. It may log a choice that
	// could surprise. Its errors say what to do.
	Find(ctx context.Context, log *slog.Logger) (Site, error)
}

// NotLinked stands for a platform that was asked for by its name and that the program does not import. Find says so.
func NotLinked(name string) Platform { return notLinked(name) }

type notLinked string

func (n notLinked) String() string { return string(n) }

func (n notLinked) Find(context.Context, *slog.Logger) (Site, error) {
	return nil, fmt.Errorf("this program cannot run nodes on %s: it was built without it (import harness/cluster/%s and hand it in), "+
		"use the doublegrant command, or processes", n, n)
}

// Site is a Platform that was found. Its methods are safe for concurrent use.
type Site interface {
	// String is what nodes run from, such as the name of an image.
	String() string
	// NewHost returns what will run one node. Nothing is made of it yet.
	NewHost(HostOptions) Host
	// Watch makes sure that all hosts of the cluster in folder are removed if this process dies before it calls forget.
	Watch(folder string) (forget func(), err error)
	// RemoveAll removes all hosts of the cluster in folder, those that are still being made included. It bounds its own time.
	RemoveAll(ctx context.Context, folder string) error
	// Leftovers lists the hosts of all clusters, whoever made them; Owned is for the caller to find out.
	Leftovers(ctx context.Context) ([]Leftover, error)
	// Remove kills and removes a host that Leftovers listed. One that is gone is no error.
	Remove(ctx context.Context, l Leftover) error
}

// HostOptions say what a Host runs.
type HostOptions struct {
	Name  string   // of the node, such as "r1"
	Args  []string // of redis-server
	Env   []string // NAME=value, all of it
	Log   string   // path of the file that what the node prints is added to
	Files int64    // how many files the node may open; 0: as many as the platform says
	Owner Owner    // whose folder the node needs under the same path: its configuration and data are there
}

// Owner has the signs by which the owner of a host is known, and by which a dead one's host is told from others.
type Owner struct {
	Folder  string // of the cluster
	Subnet  string // of the cluster, such as 127.17.0.0/16
	Process string // that made it: its id and the time of its start
}

// Host runs one node. Its methods are safe for concurrent use. Acting on a node that was never started is an error, save for
// Kill, Running and Remove.
type Host interface {
	// Make makes the host without starting the node. Start does it otherwise; hosts made side by side save time.
	Make(ctx context.Context) error
	// Start starts the node with its configuration as it last rewrote it, and returns once it runs, which is before it
	// answers. ended is closed when it has ended, whatever ended it.
	Start(ctx context.Context) (ended <-chan struct{}, err error)
	// Kill ends it with SIGKILL, paused or not, and returns when it is gone. Killing what is gone is no error.
	Kill() error
	// Terminate asks it with SIGTERM to end in good order, and returns when it is gone.
	Terminate(ctx context.Context) error
	// Pause stops it with SIGSTOP or as that does, and returns when it is stopped.
	Pause(ctx context.Context) error
	// Resume ends a pause. On one that runs it does nothing.
	Resume() error
	// Running reports whether it was started and has not ended.
	Running() bool
	// Remove kills it and removes what the platform keeps of it, log and working folder aside.
	Remove() error
}
