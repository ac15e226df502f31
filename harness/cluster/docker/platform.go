// Package docker runs the nodes of clusters in containers: cluster.Options{Platform: docker.Platform{}}.
//
// The containers use this machine's network, so that addresses and faults are those of nodes that run as processes. The
// package needs a Docker Engine that runs as root on Linux.
//
// Importing the package changes nothing. A program that uses it calls [Watchdog] first thing in main, or in TestMain.
// If the program is killed, a second process of the same binary removes its containers. Nothing else can: the kernel
// does not end containers with a process, testcontainers' reaper needs its own image, and a shell cannot talk to
// Docker.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/moby/moby/client"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// ErrNoDocker marks a machine that cannot run nodes in containers: it has no suitable Docker daemon, or no image.
// Errors that wrap it say what to do.
var ErrNoDocker = errors.New("no Docker")

// imageError is an error about an image. errors.Is takes it for ErrNoDocker, although its text says nothing of Docker.
type imageError struct{ error }

// Is reports whether target is ErrNoDocker.
func (imageError) Is(target error) bool { return target == ErrNoDocker }

// Unwrap returns the error about the image.
func (e imageError) Unwrap() error { return e.error }

// errNoWatchdog is the error for a program that has not called Watchdog: if the program were killed, its containers
// would stay.
var errNoWatchdog = errors.New("docker: containers would remain if this program were killed: call docker.Watchdog " +
	"first in main, or in TestMain")

// Platform runs nodes in containers. The zero value is a usable default.
type Platform struct {
	// Image of Redis; default: $DOUBLEGRANT_REDIS_IMAGE, then redis:7, or LocalImage if only that is on this machine.
	Image string
	// Patience is the longest wait for an answer of the daemon; default 20s, and 1m if it makes or changes something.
	Patience time.Duration
}

var _ cluster.Platform = Platform{}

// String returns cluster.OnDocker.
func (Platform) String() string { return cluster.OnDocker }

// Find finds the daemon and the image, which it fetches if it is missing. The error wraps ErrNoDocker if either is not
// available. It is also an error if the program has not called Watchdog.
func (p Platform) Find(ctx context.Context, log *slog.Logger) (cluster.Site, error) {
	if !watchdogCalled.Load() {
		return nil, errNoWatchdog
	}
	d, err := findDaemon(ctx, p.bounds())
	if err != nil {
		return nil, err
	}
	d.image, err = d.findImage(ctx, p.Image)
	if err != nil {
		return nil, err
	}
	if d.image == LocalImage && cmp.Or(p.Image, os.Getenv(imageEnv)) == "" {
		log.Info("the official image is not on this machine: nodes run the local one",
			"official", officialImage, "image", d.image)
	}
	return d, nil
}

// Describe says which daemon and which image would be used: "Engine 28.1, image redis:7". It fetches nothing, but says
// if the image would have to be fetched. Without a daemon the error wraps ErrNoDocker.
func (p Platform) Describe(ctx context.Context) (string, error) {
	d, err := findDaemon(ctx, p.bounds())
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	image, here, err := d.chooseImage(ctx, p.Image)
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	if !here {
		image += ", which is not here and would be fetched; without a registry: doublegrant doctor --build-image"
	}
	return fmt.Sprintf("Engine %s, image %s", d.version, image), nil
}

// LocalDaemon returns the Docker daemon of this machine, for cluster.Leftovers and cluster.RemoveOrphans. It is empty
// if there is none.
func LocalDaemon(ctx context.Context) []cluster.Site {
	d, err := findDaemon(ctx, Platform{}.bounds())
	if err != nil {
		return nil
	}
	return []cluster.Site{d}
}

// Labels of a container, and what their values say.
const (
	label       = "doublegrant" // the folder of the container's cluster
	nodeLabel   = label + ".node"
	subnetLabel = label + ".subnet" // the subnet of the container's cluster
	ownerLabel  = label + ".owner"  // the process that made the container
)

var _ cluster.Site = (*daemon)(nil)

// String returns the name of the image.
func (d *daemon) String() string { return d.image }

// NewHost makes the host of a node that runs in a container.
func (d *daemon) NewHost(o cluster.HostOptions) cluster.Host {
	return &containerHost{HostOptions: o, daemon: d}
}

// Leftovers lists the containers with our label, of any owner.
func (d *daemon) Leftovers(ctx context.Context) ([]cluster.Leftover, error) {
	found, err := ask(ctx, d.query, func(ctx context.Context) (client.ContainerListResult, error) {
		ours := make(client.Filters).Add("label", label)
		return d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: docker: list containers: %w", err)
	}
	var all []cluster.Leftover
	for _, c := range found.Items {
		all = append(all, cluster.Leftover{
			Kind: "container", Name: fmt.Sprintf("%s (%.12s)", c.Labels[nodeLabel], c.ID), Run: c.Labels[label],
			ID: c.ID, Process: c.Labels[ownerLabel], Subnet: c.Labels[subnetLabel],
		})
	}
	return all, nil
}

// Remove kills and removes a container with its volumes.
func (d *daemon) Remove(ctx context.Context, l cluster.Leftover) error {
	return d.remove(ctx, l.Name, l.ID)
}

// RemoveAll removes all remaining containers of a cluster.
func (d *daemon) RemoveAll(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, d.query)
	defer cancel()
	return d.removeContainers(ctx, folder, 0)
}

// removeContainers removes a cluster's containers. It returns when it has seen no container for the time in the
// parameter quiet. A container that was being made when its maker gave up or died may appear late.
func (d *daemon) removeContainers(ctx context.Context, folder string, quiet time.Duration) error {
	const every = 100 * time.Millisecond
	quietSince := time.Now()
	return await.Until(ctx, every, func() error {
		found, err := d.Leftovers(ctx)
		remaining := err != nil
		for _, c := range found {
			if c.Run == folder {
				remaining = true
				err = errors.Join(err, d.Remove(ctx, c))
			}
		}
		if remaining {
			quietSince = time.Now()
		}
		if err == nil && time.Since(quietSince) < quiet {
			err = errors.New("cluster: docker: containers may still appear")
		}
		return err
	})
}
