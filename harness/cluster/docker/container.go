package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// containerHost runs a node in a container on this machine's network. The cluster's folder has the same path in the
// container as outside, so a container has its configuration, append-only file and Unix socket where a process has
// them. These files outlive the container.
type containerHost struct {
	cluster.HostOptions
	daemon *daemon

	starting sync.Mutex // held while the container is made or started

	mu    sync.Mutex
	id    string        // empty until the container is made
	ended chan struct{} // closed when the container has ended; nil until it is started
	quit  context.CancelFunc
}

func (c *containerHost) Start(ctx context.Context) (<-chan struct{}, error) {
	if err := c.Make(ctx); err != nil {
		return nil, err
	}
	c.starting.Lock()
	defer c.starting.Unlock()
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	out, err := c.attach(ctx)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	err = c.callDaemon(ctx, "start", func(ctx context.Context, id string) error {
		_, err := c.daemon.api.ContainerStart(ctx, id, client.ContainerStartOptions{})
		return err
	})
	if err != nil {
		out.Close()
		return nil, errors.Join(err, file.Close())
	}
	following, quit := context.WithCancel(context.Background())
	ended := make(chan struct{})
	c.mu.Lock()
	c.ended, c.quit = ended, quit
	c.mu.Unlock()
	go func() {
		defer close(ended)
		defer quit()
		c.follow(following, out, file)
	}()
	return ended, nil
}

func (c *containerHost) Kill() error {
	if !c.Running() {
		return nil
	}
	ctx := context.Background()
	err := c.signal(ctx, "SIGKILL")
	if errdefs.IsConflict(err) && c.state(ctx).Paused { // some versions of Docker kill no paused container
		if err = c.Resume(); err == nil {
			err = c.signal(ctx, "SIGKILL")
		}
	}
	if err != nil && !errdefs.IsConflict(err) { // a conflict: it has just ended
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.daemon.change, errNoAnswer)
	defer cancel()
	return c.awaitEnd(ctx)
}

func (c *containerHost) Terminate(ctx context.Context) error {
	if err := c.signal(ctx, "SIGTERM"); err != nil {
		return err
	}
	return c.awaitEnd(ctx)
}

func (c *containerHost) signal(ctx context.Context, name string) error {
	return c.callDaemon(ctx, "send "+name+" to", func(ctx context.Context, id string) error {
		_, err := c.daemon.api.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: name})
		return err
	})
}

func (c *containerHost) Pause(ctx context.Context) error {
	err := c.callDaemon(ctx, "pause", func(ctx context.Context, id string) error {
		_, err := c.daemon.api.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		return err
	})
	if err != nil && c.state(ctx).Paused {
		return nil // it was paused already
	}
	return err
}

func (c *containerHost) Resume() error {
	ctx := context.Background()
	err := c.callDaemon(ctx, "resume", func(ctx context.Context, id string) error {
		_, err := c.daemon.api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
		return err
	})
	if err == nil || c.endedChan() == nil {
		return err
	}
	if s, lost := c.inspect(ctx); lost == nil && !s.Paused {
		return nil // it was not paused, or has ended
	}
	return err
}

// Running reports whether the container runs, as far as is known: if the daemon is gone, the container counts as
// running.
func (c *containerHost) Running() bool {
	ended := c.endedChan()
	if ended == nil {
		return false
	}
	select {
	case <-ended:
		return false
	default:
		return true
	}
}

func (c *containerHost) Remove() error {
	c.mu.Lock()
	id, quit := c.id, c.quit
	c.mu.Unlock()
	if id == "" {
		return nil
	}
	err := c.daemon.remove(context.Background(), c.Name, id)
	if quit == nil {
		return err
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.awaitEnd(ctx) // so that its last lines get into the log
	}
	quit()
	<-c.endedChan() // no more is written to the log
	return err
}

// endedChan returns a channel that is closed when the container has ended, or nil if it was never started.
func (c *containerHost) endedChan() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *containerHost) awaitEnd(ctx context.Context) error {
	select {
	case <-c.endedChan():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cluster: %s does not end: %w", c.Name, context.Cause(ctx))
	}
}

// state returns the container's state from the daemon, or the zero value if the daemon does not answer.
func (c *containerHost) state(ctx context.Context) container.State {
	s, _ := c.inspect(ctx)
	return s
}

func (c *containerHost) inspect(ctx context.Context) (s container.State, err error) {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	res, err := ask(ctx, c.daemon.query, func(ctx context.Context) (client.ContainerInspectResult, error) {
		return c.daemon.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	})
	if err == nil && res.Container.State != nil {
		s = *res.Container.State
	}
	return s, err
}

var errNeverStarted = errors.New("it was never started")

// callDaemon makes one call to the daemon about the container. It returns an error if there is no container yet.
func (c *containerHost) callDaemon(
	ctx context.Context, what string, call func(ctx context.Context, id string) error,
) error {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	return c.daemon.callWithin(ctx, what+" "+c.Name, func(ctx context.Context) error {
		if id == "" {
			return errNeverStarted
		}
		return call(ctx, id)
	})
}

// remove kills a container and removes it with its volumes. It is not an error if the container is gone, or is being
// removed.
func (d *daemon) remove(ctx context.Context, name, id string) error {
	return d.callWithin(ctx, "remove "+name, func(ctx context.Context) error {
		refused := false
		return await.Poll(ctx, 50*time.Millisecond, func() (again bool, err error) {
			_, err = d.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			switch {
			case errdefs.IsNotFound(err):
				return false, nil
			case errdefs.IsConflict(err): // another process removes it, or it is paused
				refused = true
				_, _ = d.api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
			}
			return refused && err != nil, err
		})
	})
}
