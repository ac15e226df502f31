package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// bounds holds the timeouts of calls to the Docker daemon. They guard against a daemon that hangs. A call usually takes
// tenths of a second, but on a busy machine the start of a container took more than 10 s.
type bounds struct {
	change time.Duration // timeout of a call that makes or changes something
	query  time.Duration // timeout of a call that only reads
}

func (p Platform) bounds() bounds {
	return bounds{change: cmp.Or(p.Patience, time.Minute), query: cmp.Or(p.Patience, 20*time.Second)}
}

// errNoAnswer is the error of a call that the daemon did not answer in time.
var errNoAnswer = errors.New("the Docker daemon does not answer")

// daemon is a Docker daemon that runs nodes.
type daemon struct {
	bounds
	api     *client.Client
	version string
	image   string // image from which nodes run
}

// findDaemon returns the daemon at $DOCKER_HOST. If $DOCKER_HOST is not set, it returns the daemon that testcontainers
// finds by the Docker context and the usual sockets. The error wraps ErrNoDocker if there is none, or if its containers
// cannot use this machine's network.
func findDaemon(ctx context.Context, b bounds) (*daemon, error) {
	if image, _ := CurrentImage(); image != "" {
		return nil, fmt.Errorf("%w inside the image %s: its nodes are processes of the same container; leave --on "+
			"docker out, or use it with a doublegrant outside of a container", ErrNoDocker, image)
	}
	d, info, err := anyDaemon(ctx, b)
	if err != nil {
		return nil, err
	}
	own := info.OSType != "linux" || strings.Contains(info.OperatingSystem, "Docker Desktop") ||
		strings.Contains(strings.Join(info.SecurityOptions, " "), "name=rootless")
	if own {
		return nil, fmt.Errorf("%w: %s (%s) gives containers no part in this machine's network: use a Docker Engine "+
			"that runs as root on Linux, or processes", ErrNoDocker, info.OperatingSystem,
			info.ServerVersion)
	}
	return d, nil
}

// anyDaemon finds a daemon as findDaemon does. It also accepts a daemon whose containers cannot use this machine's
// network, since any daemon can make images. The error wraps ErrNoDocker.
func anyDaemon(ctx context.Context, b bounds) (*daemon, system.Info, error) {
	api, err := ask(ctx, b.query, openClient)
	if err != nil {
		return nil, system.Info{}, noDaemon(err)
	}
	res, err := ask(ctx, b.query, func(ctx context.Context) (client.SystemInfoResult, error) {
		return api.Info(ctx, client.InfoOptions{})
	})
	if err != nil {
		return nil, system.Info{}, noDaemon(err)
	}
	return &daemon{bounds: b, api: api, version: res.Info.ServerVersion}, res.Info, nil
}

// openClient makes testcontainers' client. If testcontainers has found no daemon, openClient makes a plain client:
// testcontainers looks only once in a process, and a daemon may have come up since. testcontainers' log is off during
// the call, so that it prints no greeting.
//
// openClient also turns off testcontainers' reaper for the whole process, unless $TESTCONTAINERS_RYUK_DISABLED is set.
// The reaper needs its own image and does what our watchdog does.
func openClient(ctx context.Context) (*client.Client, error) {
	opening.Lock()
	defer opening.Unlock()
	if _, set := os.LookupEnv(noReaperEnv); !set {
		if err := os.Setenv(noReaperEnv, "true"); err != nil {
			return nil, err
		}
	}
	loud := log.Default()
	log.SetDefault(log.NewNoopLogger())
	defer log.SetDefault(loud)
	if os.Getenv(client.EnvOverrideHost) != "" {
		return openNamed(ctx)
	}
	it, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return client.New(client.FromEnv)
	}
	return it.Client, nil // without its wrapper, which answers every Info with the first answer
}

// openNamed makes a client of the daemon at $DOCKER_HOST, and returns an error if that daemon does not answer.
//
// It calls testcontainers, which makes our containers, only after the daemon has answered. Otherwise testcontainers
// might choose another daemon, and keep it for the life of the process. openNamed returns an error if testcontainers
// uses another daemon all the same, such as one that its own properties file names.
func openNamed(ctx context.Context) (*client.Client, error) {
	named, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	if _, err := named.Info(ctx, client.InfoOptions{}); err != nil {
		return nil, err
	}
	it, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return nil, err
	}
	if theirs := it.DaemonHost(); theirs != named.DaemonHost() {
		return nil, fmt.Errorf("testcontainers would make containers at %s (see ~/.testcontainers.properties)", theirs)
	}
	return named, nil
}

const noReaperEnv = "TESTCONTAINERS_RYUK_DISABLED"

// opening guards the process-wide settings that openClient changes for a moment.
var opening sync.Mutex

func noDaemon(err error) error {
	said := strings.ReplaceAll(err.Error(), "\n", "; ")
	remedy := "install Docker or start it (systemctl start docker), or use processes"
	if strings.Contains(said, "permission denied") {
		remedy = "become a member of its group (usermod -aG docker $USER, and log in again), or use processes"
	}
	if host := os.Getenv(client.EnvOverrideHost); host != "" {
		said = fmt.Sprintf("%s=%s: %s", client.EnvOverrideHost, host, said)
		remedy = "start the daemon there, or unset " + client.EnvOverrideHost + ", or use processes"
	}
	return fmt.Errorf("%w: %s: %s", ErrNoDocker, said, remedy)
}

// ask makes one call and waits for its result, for at most the given time. A call that ignores its context continues in
// the background.
func ask[T any](ctx context.Context, within time.Duration, call func(context.Context) (T, error)) (T, error) {
	type answer struct {
		it  T
		err error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%w within %v", errNoAnswer, within))
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		it, err := call(ctx)
		answers <- answer{it, err}
	}()
	var a answer
	select {
	case a = <-answers:
		if a.err != nil && ctx.Err() != nil {
			a.err = context.Cause(ctx) // the client's own message is longer and says less
		}
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	return a.it, a.err
}

// callWithin makes one call without a result, and waits for at most d.change. The parameter what, which becomes part of
// the error, says what the call was for.
func (d *daemon) callWithin(ctx context.Context, what string, call func(context.Context) error) error {
	_, err := ask(ctx, d.change, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	if err != nil {
		return fmt.Errorf("cluster: docker: %s: %w", what, err)
	}
	return nil
}
