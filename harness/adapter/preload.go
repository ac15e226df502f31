package adapter

import (
	"context"
	"debug/buildinfo"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
)

// This file gives processes of searches the schedule's time. A preloaded library turns each sleep, and each call that
// reads the time of day, into a question. Other programs ask such questions by a line of the protocol.

//go:embed clock.c
var clockSource []byte

// A process asks its clock by a number that it sends over the socket. 0 asks for the time. A positive number asks for a
// sleep of that many nanoseconds. The numbers below zero have other meanings:
const (
	askHello  = -1 // the library was loaded
	askTimer  = -2 // an event loop is about to wait for a timer
	askGlance = -3 // asks for the time without being a step of the schedule
)

// errTimer is the error of a program whose event loop waits for a timer.
var errTimer = fmt.Errorf("it waits for a timer of its event loop (setTimeout, asyncio.sleep), which a preloaded "+
	"clock cannot answer: let it ask for sleep, %s", page)

// clocks makes the preloaded clocks of a program's processes. It compiles the preloaded library when the first clock is
// needed. The zero value is ready.
type clocks struct {
	mu     sync.Mutex
	folder string
	remove func() error
	made   int
}

// libraryName is the name of the preloaded library in the folder of clocks.
const libraryName = "clock.so"

// prepare writes the library to a new folder, if that was not done yet. The caller holds the lock.
func (s *clocks) prepare() (err error) {
	if s.folder != "" {
		return nil
	}
	library, err := cluster.PreloadLibrary(context.Background(), clockSource)
	if err != nil {
		return err
	}
	folder, remove, err := cluster.TempFolder()
	if err != nil {
		return err
	}
	path := filepath.Join(folder, libraryName)
	if strings.ContainsAny(path, " :") {
		err = fmt.Errorf("its clock cannot be preloaded from %s: set TMPDIR to a path without spaces and colons",
			folder)
	} else {
		err = os.WriteFile(path, library, 0o755)
	}
	if err != nil {
		return errors.Join(err, remove())
	}
	s.folder, s.remove = folder, remove
	return nil
}

// clear removes the folder of the library. The caller makes sure that no process still uses the library.
func (s *clocks) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remove != nil {
		_ = s.remove() // what stays does not outlive this process
	}
	s.folder, s.remove = "", nil
}

// clock answers the questions of one process about the time.
type clock struct {
	library   string
	l         net.Listener
	owner     timekeeper
	questions chan timeQuestion // questions during an operation
	over      chan struct{}     // closed by the method close
	loaded    atomic.Bool       // the library has said hello
	shown     atomic.Int64      // the time of day in its latest answer, in nanoseconds since 1970; 0: none yet
}

// timekeeper is what a clock needs of its process.
type timekeeper interface {
	// underWay returns a channel that is closed when the current operation ends, or nil if there is none.
	underWay() <-chan struct{}
	breakDown(why error)
}

// timeQuestion asks for the time, or for a sleep, during an operation.
type timeQuestion struct {
	sleep time.Duration // how long to sleep; 0: asks for the time; askTimer: waits for a timer
	reply chan time.Time
}

// answer answers the question with the clock of ctx.
func (q timeQuestion) answer(ctx context.Context) {
	if q.sleep == 0 {
		q.reply <- harness.Now(ctx)
		return
	}
	_ = harness.Sleep(ctx, q.sleep) // a client that has crashed hears that from its connections
	q.reply <- time.Time{}
}

// writtenWithin is the longest time that an answer is assumed to take from the process to here.
const writtenWithin = 200 * time.Millisecond

// refuse replies to a process whose event loop is about to wait for a timer. If the operation's answer arrives within
// writtenWithin, the operation is over and the process may wait. Otherwise refuse breaks the process down, since a
// preloaded clock cannot end the wait for a timer.
func (q timeQuestion) refuse(c *process, answers chan answer) {
	select {
	case a := <-answers:
		answers <- a // there is room for one
		q.reply <- time.Time{}
	case <-time.After(writtenWithin):
		c.breakDown(errTimer)
	}
}

// make returns a clock for a process that is about to start. The error wraps cluster.ErrNoCompiler if the library
// cannot be compiled.
func (s *clocks) make(owner timekeeper) (*clock, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.prepare(); err != nil {
		return nil, err
	}
	s.made++
	socket := filepath.Join(s.folder, fmt.Sprintf("time-%d", s.made))
	if err := cluster.CheckSocket(socket); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	k := &clock{library: filepath.Join(s.folder, libraryName), l: l, owner: owner, questions: make(chan timeQuestion),
		over: make(chan struct{})}
	go k.serve()
	return k, nil
}

// environment returns the variables by which a process loads the library and finds the socket.
func (k *clock) environment() []string {
	preload := k.library
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		preload += ":" + others
	}
	return []string{"LD_PRELOAD=" + preload, "DOUBLEGRANT_TIME=" + k.l.Addr().String()}
}

func (k *clock) serve() {
	for {
		conn, err := k.l.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				k.owner.breakDown(fmt.Errorf("its clock cannot be answered: %w", err))
			}
			return
		}
		go k.answer(conn)
	}
}

func (k *clock) answer(conn net.Conn) {
	defer conn.Close()
	var b [16]byte
	if _, err := io.ReadFull(conn, b[:8]); err != nil {
		return
	}
	answered := true
	switch question := int64(binary.NativeEndian.Uint64(b[:])); question {
	case askHello:
		k.loaded.Store(true)
	case askGlance:
		answered = k.wasShown(0)
	default:
		var ended bool
		if answered, ended = k.ask(time.Duration(question)); ended {
			return
		}
	}
	clear(b[:])
	if answered {
		binary.NativeEndian.PutUint64(b[:], 1)
		binary.NativeEndian.PutUint64(b[8:], uint64(k.shown.Load()))
	}
	_, _ = conn.Write(b[:]) // the process may have ended
}

// ask passes a question of the process to the current operation and waits for the answer. A sleep of 0 asks for the
// time. Between operations ask repeats the time of day that the clock answered most recently. It leaves a sleep
// unanswered, so that the process really sleeps: another of its threads may be the one that sleeps. The second result
// says whether the process has ended meanwhile.
func (k *clock) ask(sleep time.Duration) (answered, ended bool) {
	over := k.owner.underWay()
	if over == nil {
		return k.wasShown(sleep), false
	}
	q := timeQuestion{sleep, make(chan time.Time, 1)}
	select {
	case k.questions <- q:
	case <-over:
		return k.wasShown(sleep), false
	case <-k.over:
		return false, true
	}
	select {
	case t := <-q.reply:
		if !t.IsZero() {
			k.shown.Store(t.UnixNano())
		}
		return sleep > 0 || k.shown.Load() != 0, false
	case <-k.over:
		return false, true
	}
}

// wasShown reports whether the clock can answer without an operation. It can repeat the time of day that it answered
// most recently, but it cannot sleep.
func (k *clock) wasShown(sleep time.Duration) bool { return sleep == 0 && k.shown.Load() != 0 }

// close ends the clock of a process that has ended.
func (k *clock) close() {
	close(k.over)
	_ = k.l.Close()
}

// withoutTimers adds an option to a command of Node. The option turns off a timer that V8 sets for its heap, which
// looks like a timer of the program.
func withoutTimers(command []string) []string {
	if name := filepath.Base(command[0]); name != "node" && name != "nodejs" {
		return command
	}
	return slices.Insert(slices.Clone(command), 1, "--no-memory-reducer")
}

// checkHeeded returns an error if a process of the process group does not use the clock.
func (k *clock) checkHeeded(group int) error {
	if !k.loaded.Load() {
		return errors.New("it loads no library (LD_PRELOAD): let an adapter that is linked statically ask for the time")
	}
	for _, pid := range processes.InGroup(group) {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		exe := fmt.Sprintf("/proc/%d/exe", pid)
		name, linkErr := os.Readlink(exe)
		if err != nil || linkErr != nil || len(maps) == 0 {
			continue // it has ended
		}
		if !strings.Contains(string(maps), k.library) {
			return fmt.Errorf("%s loads no library (LD_PRELOAD): let an adapter that is linked statically ask for the "+
				"time", name)
		}
		if _, err := buildinfo.ReadFile(exe); err == nil {
			return fmt.Errorf("%s is a program of Go's, which reads the clock without the C library: let it ask for "+
				"the time", name)
		}
	}
	return nil
}
