package docker

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// Make makes the container, unless it was made before, and does not start it.
func (c *containerHost) Make(ctx context.Context) error {
	c.starting.Lock()
	defer c.starting.Unlock()
	c.mu.Lock()
	made := c.id != ""
	c.mu.Unlock()
	if made {
		return nil
	}
	id, err := ask(ctx, c.daemon.change, func(ctx context.Context) (string, error) {
		it, err := testcontainers.Run(ctx, c.daemon.image, testcontainers.WithNoStart(),
			testcontainers.WithLogger(log.NewNoopLogger()), testcontainers.WithLabels(c.labels()),
			testcontainers.WithConfigModifier(c.configure), testcontainers.WithHostConfigModifier(c.configureHost))
		if err != nil {
			return "", err
		}
		return it.GetContainerID(), nil
	})
	if err != nil {
		return fmt.Errorf("cluster: docker: make a container of %s for %s: %w%s",
			c.daemon.image, c.Name, err, remedyFor(err))
	}
	c.mu.Lock()
	c.id = id
	c.mu.Unlock()
	return nil
}

// configure makes the container run redis-server as our user. It drops the entry point of the official image, which
// would switch to a user who cannot write the configuration.
func (c *containerHost) configure(config *container.Config) {
	config.Entrypoint, config.Cmd = []string{"redis-server"}, c.Args
	config.User = fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	config.Env = append(config.Env, c.Env...)
	config.AttachStdout, config.AttachStderr = true, true
}

// configureHost gives the container this machine's network, the cluster's folder and a limit of open files, and turns
// Docker's log off.
func (c *containerHost) configureHost(h *container.HostConfig) {
	h.NetworkMode = "host"
	h.Mounts = []mount.Mount{{Type: mount.TypeBind, Source: c.Owner.Folder, Target: c.Owner.Folder}}
	h.LogConfig = container.LogConfig{Type: "none"}
	h.SecurityOpt = []string{"label=disable"} // otherwise SELinux would deny it the folder
	if c.Files > 0 {
		h.Ulimits = []*container.Ulimit{{Name: "nofile", Soft: c.Files, Hard: c.Files}}
	}
}

// labels returns the labels that identify the container and its owner.
func (c *containerHost) labels() map[string]string {
	return map[string]string{
		label: c.Owner.Folder, nodeLabel: c.Name, subnetLabel: c.Owner.Subnet, ownerLabel: c.Owner.Process,
	}
}

// remedyFor returns a remedy for an error of the daemon whose own text names none. It is empty if no remedy is known.
func remedyFor(err error) string {
	if strings.Contains(err.Error(), "bind source path does not exist") {
		return ": the Docker daemon has to run on this machine, and to see the folder: set TMPDIR to one that it sees"
	}
	return ""
}

// attach opens the stream of the container's output.
func (c *containerHost) attach(ctx context.Context) (client.HijackedResponse, error) {
	res, err := ask(ctx, c.daemon.change, func(ctx context.Context) (client.ContainerAttachResult, error) {
		return c.daemon.api.ContainerAttach(ctx, c.id,
			client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	})
	if err != nil {
		err = fmt.Errorf("cluster: docker: attach to %s: %w", c.Name, err)
	}
	return res.HijackedResponse, err
}

// follow writes the container's output to its log, and returns when the container has ended or ctx ends. The output
// also ends when the daemon stops. So, after the output, follow asks the daemon for the container's state until the
// daemon answers.
func (c *containerHost) follow(ctx context.Context, out client.HijackedResponse, file *os.File) {
	defer file.Close()
	defer out.Close()
	stop := context.AfterFunc(ctx, out.Close)
	defer stop()
	_, _ = stdcopy.StdCopy(file, file, out.Reader)
	// If the disk is full: a container whose output is not read stops at its next line.
	_, _ = io.Copy(io.Discard, out.Reader)
	for pause := time.Millisecond; ctx.Err() == nil; pause = min(2*pause, time.Second) {
		s, err := c.inspect(ctx)
		if errdefs.IsNotFound(err) || err == nil && !s.Running {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
