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

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// bounds of calls to the Docker daemon; tenths of a second are usual.
type bounds struct {
	change time.Duration // of one that makes or changes something
	look   time.Duration // of one that looks
}

func (p Platform) bounds() bounds {
	return bounds{change: cmp.Or(p.Patience, 10*time.Second), look: cmp.Or(p.Patience, 5*time.Second)}
}

// errNoAnswer is the cause of the end of a call to a daemon that keeps its caller waiting.
var errNoAnswer = errors.New("the Docker daemon does not answer")

// daemon is the Docker daemon.
type daemon struct {
	bounds
	api     *client.Client
	version string
	image   string // that nodes run
}

// findDaemon returns the daemon at $DOCKER_HOST, and no other, or where that is not set the one that testcontainers finds
// (the Docker context, the usual sockets), if containers of it can be reached: on Linux, with this machine's network.
// Anything else is ErrNoDocker.
func findDaemon(ctx context.Context, b bounds) (*daemon, error) {
	api, err := ask(ctx, b.look, openClient)
	if err != nil {
		return nil, noDaemon(err)
	}
	res, err := ask(ctx, b.look, func(ctx context.Context) (client.SystemInfoResult, error) {
		return api.Info(ctx, client.InfoOptions{})
	})
	if err != nil {
		return nil, noDaemon(err)
	}
	info := res.Info
	own := info.OSType != "linux" || strings.Contains(info.OperatingSystem, "Docker Desktop") ||
		strings.Contains(strings.Join(info.SecurityOptions, " "), "name=rootless")
	if own {
		return nil, fmt.Errorf("%w: %s (%s) gives containers no part in this machine's network: "+
			"use a Docker Engine that runs as root on Linux, or processes", ErrNoDocker, info.OperatingSystem, info.ServerVersion)
	}
	return &daemon{bounds: b, api: api, version: info.ServerVersion}, nil
}

// openClient makes testcontainers' client, or a plain one where testcontainers has found no daemon: it looks once in a
// process, and one may have come up since. testcontainers prints a greeting the first time. Its reaper would need an image
// of its own and do what our watchdog does: it is off unless $TESTCONTAINERS_RYUK_DISABLED says otherwise.
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
	return it.Client, nil // whose Info is not remembered from the first time
}

// openNamed makes a client of the daemon at $DOCKER_HOST. Where that does not answer testcontainers goes on to others, and
// it remembers which it took for as long as the process lives: it is asked only once that answers. It makes our
// containers: one that uses another daemon, for such a reason or by its own properties file, is an error.
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

// opening guards what openClient sets for a moment for the whole process.
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

// ask makes one call that lasts at most within. A call that does not heed its context is left to itself.
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
			a.err = context.Cause(ctx) // the client's own words for it are longer and say less
		}
	case <-ctx.Done():
		a.err = context.Cause(ctx)
	}
	return a.it, a.err
}

// tell makes one call, bounded in time, that has no answer. Its error says what it was for.
func (d *daemon) tell(ctx context.Context, what string, call func(context.Context) error) error {
	_, err := ask(ctx, d.change, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	if err != nil {
		return fmt.Errorf("cluster: docker: %s: %w", what, err)
	}
	return nil
}
