package outside

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// This file gives processes of searches the schedule's time. A preloaded library turns each look at the time of day, and each sleep, into
// a question of the process: what it asks by a line of the protocol where its clock is asked.

//go:embed clock.c
var clockSource []byte

// What a process asks over the socket of its clock; a positive number: to sleep for so many nanoseconds.
const (
	askHello = -1 // the library was loaded
	askLook  = 0
)

// clock answers what one process asks about the time.
type clock struct {
	folder string
	remove func() error
	l      net.Listener
	looks  chan look     // questions during an operation
	over   chan struct{} // closed by close
	busy   func() bool   // an operation is under way
	loaded atomic.Bool   // the library has said hello
	told   atomic.Int64  // what the clock showed last, in nanoseconds since 1970; 0: nothing yet
}

// look is a look at the clock, or a sleep, during an operation.
type look struct {
	sleep time.Duration // 0: a look
	told  chan time.Time
}

// answer answers it on the clock of ctx.
func (q look) answer(ctx context.Context) {
	if q.sleep == 0 {
		q.told <- harness.Now(ctx)
		return
	}
	_ = harness.Sleep(ctx, q.sleep) // a client that has crashed hears that from its connections
	q.told <- time.Time{}
}

// newClock makes the clock of a process that is about to start. The error wraps cluster.ErrNoCompiler if the library cannot be compiled.
func newClock(busy func() bool) (k *clock, err error) {
	library, err := cluster.PreloadLibrary(context.Background(), clockSource)
	if err != nil {
		return nil, err
	}
	k = &clock{looks: make(chan look), over: make(chan struct{}), busy: busy}
	if k.folder, k.remove, err = cluster.TempFolder(); err != nil {
		return nil, err
	}
	if err = os.WriteFile(k.library(), library, 0o755); err == nil {
		k.l, err = net.Listen("unix", k.socket())
	}
	if err != nil {
		return nil, errors.Join(err, k.remove())
	}
	go k.serve()
	return k, nil
}

func (k *clock) library() string { return filepath.Join(k.folder, "clock.so") }
func (k *clock) socket() string  { return filepath.Join(k.folder, "time") }

// environment returns what makes a process load the library and find the socket.
func (k *clock) environment() []string {
	return []string{"LD_PRELOAD=" + k.library(), "DOUBLEGRANT_TIME=" + k.socket()}
}

func (k *clock) serve() {
	for {
		conn, err := k.l.Accept()
		if err != nil {
			return // closed
		}
		go k.answer(conn)
	}
}

// answer answers one question. Where it cannot, it closes the connection, and the process asks the kernel.
func (k *clock) answer(conn net.Conn) {
	defer conn.Close()
	var b [8]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return
	}
	question := int64(binary.NativeEndian.Uint64(b[:]))
	switch {
	case question == askHello:
		k.loaded.Store(true)
	case k.busy():
		if !k.ask(time.Duration(question)) {
			return
		}
	case question != askLook || k.told.Load() == 0: // of a thread of its own, between two operations
		return
	}
	binary.NativeEndian.PutUint64(b[:], uint64(k.told.Load()))
	_, _ = conn.Write(b[:]) // the process may have ended
}

// ask hands a question to the operation under way. It reports false if the process ends meanwhile.
func (k *clock) ask(sleep time.Duration) (answered bool) {
	q := look{sleep, make(chan time.Time, 1)}
	select {
	case k.looks <- q:
	case <-k.over:
		return false
	}
	select {
	case t := <-q.told:
		if sleep == 0 {
			k.told.Store(t.UnixNano())
		}
		return true
	case <-k.over:
		return false
	}
}

// close ends the clock of a process that has ended.
func (k *clock) close() {
	close(k.over)
	_ = k.l.Close()
	_ = k.remove() // what stays does not outlive this process
}
