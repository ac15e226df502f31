package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// FixedClock is the time of day of all Redis nodes of a cluster. It stands still until Set moves it. The nodes'
// monotonic clocks run on: nodes measure intervals by them, such as a turn of the event loop. FixClocks makes it.
type FixedClock struct{ pages [][]byte }

// ErrClock says that the nodes' clocks cannot be set, for example because their redis-server does not load the clock
// library.
var ErrClock = errors.New("the nodes' clocks cannot be set")

// FixClocks stops the clocks of all Redis nodes at the given time, and checks that each node shows this time. It needs
// Options.Clocks and nodes that run as processes. The error wraps ErrClock if a node ignores the clock, or was started
// without Options.Clocks.
func (c *Cluster) FixClocks(ctx context.Context, now time.Time) (_ *FixedClock, err error) {
	if !c.opts.Clocks {
		return nil, fmt.Errorf("cluster: %w: start them with Options.Clocks", ErrClock)
	}
	f := &FixedClock{}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	for _, n := range c.redis {
		if err := f.open(filepath.Join(n.dir, clockFile)); err != nil {
			return nil, fmt.Errorf("cluster: fix the clock of %s: %w", n.name, err)
		}
	}
	f.Set(now)
	for _, n := range c.redis {
		shown, err := n.admin.Time(ctx).Result()
		if err != nil {
			return nil, fmt.Errorf("cluster: TIME on %s: %w", n.name, err)
		}
		if !shown.Equal(now.Truncate(time.Microsecond)) {
			return nil, fmt.Errorf("cluster: %w: %s shows %v where %v was set: does its redis-server load libraries "+
				"(LD_PRELOAD)?", ErrClock, n.name, shown, now)
		}
	}
	return f, nil
}

// open maps a node's clock file into memory.
func (f *FixedClock) open(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close() // the mapping stays
	page, err := syscall.Mmap(int(file.Fd()), 0, clockFileSize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err == nil {
		f.pages = append(f.pages, page)
	}
	return err
}

// Set moves the clocks of all nodes to the given time, ahead or back. The move takes effect at once and costs no system
// call.
func (f *FixedClock) Set(now time.Time) {
	f.store(clockThenAt, 0)
	f.store(clockFixedAt, now.UnixNano())
}

// SetDuring makes the clock of a node show commandTime while the node executes its next command. Up to the command, the
// clock shows the time of Set. A TIME inside the command, as in a script, returns commandTime only if the server reads
// the clock anew for TIME, as Redis 7.0 does. SetDuring stays in force until the next Set. Nodes with a library of an
// older version ignore it.
func (f *FixedClock) SetDuring(commandTime time.Time) { f.store(clockThenAt, commandTime.UnixNano()) }

// store writes one field of every node's clock file. The parameter field is its position in bytes.
func (f *FixedClock) store(field int, value int64) {
	for _, page := range f.pages {
		atomic.StoreInt64((*int64)(unsafe.Pointer(&page[field])), value) // the page is aligned, and each field in it
	}
}

// Close unmaps the nodes' clock files. The clocks keep their time, and Set does nothing afterwards.
func (f *FixedClock) Close() {
	for _, page := range f.pages {
		_ = syscall.Munmap(page) // it was mapped by open
	}
	f.pages = nil
}
