package cluster

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// clockLibraries keeps the compiled library of each compiler: a search starts many clusters.
var clockLibraries struct {
	sync.Mutex
	made map[string][]byte
}

// makeClocks puts the library into the cluster's folder, if the options ask for clocks.
func (c *Cluster) makeClocks(ctx context.Context) error {
	if !c.opts.Clocks {
		return nil
	}
	compiler := strings.Fields(os.Getenv("CC"))
	if len(compiler) == 0 {
		compiler = []string{"cc"}
	}
	library := filepath.Join(c.dir, clockLibrary)
	clockLibraries.Lock()
	defer clockLibraries.Unlock()
	name := strings.Join(compiler, " ")
	if made := clockLibraries.made[name]; made != nil {
		return os.WriteFile(library, made, 0o755)
	}
	if err := compileClock(ctx, compiler, library); err != nil {
		return err
	}
	made, err := os.ReadFile(library)
	if err == nil {
		if clockLibraries.made == nil {
			clockLibraries.made = map[string][]byte{}
		}
		clockLibraries.made[name] = made
	}
	return err
}

// compileClock compiles the library with the given compiler.
func compileClock(ctx context.Context, compiler []string, library string) error {
	source := library + ".c"
	if err := os.WriteFile(source, clockSource, 0o644); err != nil {
		return err
	}
	args := append(compiler[1:], "-O2", "-shared", "-fPIC", "-nostdlib", "-fno-stack-protector", "-o", library, source)
	out, err := exec.CommandContext(ctx, compiler[0], args...).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %q cannot be run, and clocks that can be set need one: install it (Debian: apt-get install gcc libc6-dev) or set CC",
			ErrNoCompiler, compiler[0])
	case err != nil:
		return fmt.Errorf("%w: %q cannot compile the clock library (Debian: apt-get install libc6-dev): %w: %s",
			ErrNoCompiler, compiler[0], err, lastLines(string(out)))
	}
	return nil
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
