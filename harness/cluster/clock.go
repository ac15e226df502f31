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

// This file gives nodes clocks that can be set. A preloaded library adds an offset that it reads from a file in the
// node's folder. A C compiler makes the library when a cluster starts, unless ClockLibraryEnv names a compiled one.

// ClockLibraryEnv is the environment variable that holds the path of a library of CompileClocks. Nodes that run as
// processes load this library, so their clocks can be set on a machine without a compiler, as in an image of this
// program.
const ClockLibraryEnv = "DOUBLEGRANT_CLOCK_LIBRARY"

// CompileClocks compiles the library that lets nodes' clocks be set. Its errors are those of PreloadLibrary, such as
// ErrNoCompiler.
func CompileClocks(ctx context.Context) ([]byte, error) { return PreloadLibrary(ctx, clockSource) }

// HasClockLibrary reports whether ClockLibraryEnv names a file. The clocks of nodes that run as processes can then be
// set on a machine without a compiler.
func HasClockLibrary() bool {
	path := os.Getenv(ClockLibraryEnv)
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

//go:embed clock_shim.c
var clockSource []byte

const (
	clockLibrary = "clock.so" // name of the library in the cluster's folder, and of its copy in each node's folder
	// clockFile is a file in the node's folder. It has three fields of 8 bytes: the offset of SetClock, and the times of
	// FixedClock.Set and FixedClock.SetDuring.
	clockFile = "clock"
	clockEnv  = "DOUBLEGRANT_CLOCK" // environment variable that holds the path of clockFile

	// Positions of the second and the third field in clockFile, in bytes.
	clockFixedAt = 8  // the time of Set
	clockThenAt  = 16 // the time of SetDuring, which the node sees from its fourth look at its clock after a request

	clockFileSize = 24 // size of clockFile in bytes
)

// SetClock sets the node's clock ahead of the true time by offset, or behind it if offset is negative. 0 sets it right.
// The time of day changes at once; the node's monotonic clock does not change. SetClock also works on a node that is
// down. It needs Options.Clocks.
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

// makeClocks compiles the library into the cluster's folder if the options ask for clocks. It does nothing if the nodes
// load the library of ClockLibraryEnv.
func (c *Cluster) makeClocks(ctx context.Context) error {
	if !c.opts.Clocks || c.hasClockLibrary() {
		return nil
	}
	library, err := CompileClocks(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, clockLibrary), library, 0o755)
}

// giveClock puts the library and the clock's file into the node's folder, and their paths into its environment. It does
// nothing unless the options ask for clocks.
func (c *Cluster) giveClock(n *node) error {
	if !c.opts.Clocks {
		return nil
	}
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	library, err := c.libraryFor(n)
	if err != nil {
		return err
	}
	offset := filepath.Join(n.dir, clockFile)
	n.env = append(n.env, "LD_PRELOAD="+library, clockEnv+"="+offset)
	return os.WriteFile(offset, make([]byte, clockFileSize), 0o644)
}

// libraryFor returns the path of the library that the node loads: the library of ClockLibraryEnv, or a copy that it
// makes in the node's folder.
func (c *Cluster) libraryFor(n *node) (path string, err error) {
	if c.hasClockLibrary() {
		return os.Getenv(ClockLibraryEnv), nil
	}
	library, err := os.ReadFile(filepath.Join(c.dir, clockLibrary))
	if err != nil {
		return "", err
	}
	path = filepath.Join(n.dir, clockLibrary)
	return path, os.WriteFile(path, library, 0o755)
}

// hasClockLibrary reports whether the nodes load the library of ClockLibraryEnv. Nodes in containers do not: they would
// not find the file.
func (c *Cluster) hasClockLibrary() bool { return c.opts.Platform == nil && HasClockLibrary() }
