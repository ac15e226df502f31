package cluster

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// This file gives nodes clocks that can be set. A preloaded library, compiled by the machine's C compiler when a cluster
// starts, adds an offset that it reads from a file in the node's folder.

//go:embed clock_shim.c
var clockSource []byte

const (
	clockLibrary = "clock.so"          // in the cluster's folder, and a copy in each node's
	clockFile    = "clock"             // in the node's folder: the offset and the fixed time, 8 bytes each
	clockEnv     = "DOUBLEGRANT_CLOCK" // environment variable that holds the path of clockFile

	clockFixedAt  = 8  // offset in the file of the time at which the clock stands still, in bytes
	clockFileSize = 16 // in bytes
)

// SetClock sets the node's clock ahead of the true time by offset, or behind it if offset is negative; 0 sets it right. The
// time of day changes at once, the node's monotonic clock does not. It works on a node that is down, too. It needs
// Options.Clocks.
func (c *Cluster) SetClock(name string, offset time.Duration) error {
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if !c.opts.Clocks {
		return errors.New("cluster: clocks can be set where nodes were started with Options.Clocks only: set it")
	}
	// Written in place: the node has the file mapped, and would die if it shrank.
	f, err := os.OpenFile(filepath.Join(n.dir, clockFile), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cluster: set the clock of %s: %w", name, err)
	}
	_, err = f.WriteAt(clockOffset(offset), 0)
	return errors.Join(err, f.Close())
}

func clockOffset(d time.Duration) []byte { return binary.NativeEndian.AppendUint64(nil, uint64(d)) }

// makeClocks puts the library into the cluster's folder, if the options ask for clocks.
func (c *Cluster) makeClocks(ctx context.Context) error {
	if !c.opts.Clocks {
		return nil
	}
	library, err := PreloadLibrary(ctx, clockSource)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, clockLibrary), library, 0o755)
}

// giveClock puts the library and the clock's file into the node's folder, and their paths into its environment, if the options
// ask for clocks.
func (c *Cluster) giveClock(n *node) error {
	if !c.opts.Clocks {
		return nil
	}
	library, err := os.ReadFile(filepath.Join(c.dir, clockLibrary))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	own, offset := filepath.Join(n.dir, clockLibrary), filepath.Join(n.dir, clockFile)
	n.env = append(n.env, "LD_PRELOAD="+own, clockEnv+"="+offset)
	return errors.Join(os.WriteFile(own, library, 0o755), os.WriteFile(offset, make([]byte, clockFileSize), 0o644))
}
