package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	// writeEvery is the interval between two writes to a node, hence the resolution of "writable" and "unwritable"
	// events.
	writeEvery = 10 * time.Millisecond
	// answerWithin is the time after which a node that has not answered a write counts as unwritable.
	answerWithin = 200 * time.Millisecond
)

// probeWrite is a write command that changes nothing and is not replicated, since its key never exists. It is refused,
// or delayed, like any other write.
const probeWrite = "*2\r\n$3\r\nDEL\r\n$23\r\ndoublegrant:write-probe\r\n"

// watchWrites reports when the node starts and stops accepting writes. When it stops, it also calls the function
// onUnwritable.
func (n *node) watchWrites(
	ctx context.Context, clock harness.Clock, events func(harness.Event), onUnwritable func(node string),
) {
	w := writer{addr: n.real()}
	defer w.hangUp()
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	taking, last := false, time.Duration(0)
	for {
		err := w.write(ctx)
		now := clock.Now()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && !taking:
			events(harness.Event{At: now, Node: n.name, Kind: harness.EventWritable})
		case err != nil && taking:
			events(harness.Event{At: last, Node: n.name, Kind: harness.EventUnwritable, Detail: err.Error()})
			// sooner than watchRole, whose connection a Sentinel closes when it demotes the node
			if err.Error() == readOnly {
				events(harness.Event{At: now, Node: n.name, Kind: harness.EventRole, Detail: harness.RoleReplica})
			}
			onUnwritable(n.name)
		}
		if taking = err == nil; taking {
			last = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// writer writes to one node on its own connection. It does not use a go-redis client, which would dial a node that is
// down only once a second.
type writer struct {
	addr    string
	conn    net.Conn // nil: no connection is open
	replies *bufio.Reader
	waiting bool // a write was sent that is not answered yet
}

// readOnly is the error reply of a replica to a write.
const readOnly = "READONLY"

var errUnanswered = fmt.Errorf("no answer within %v", answerWithin)

// write returns nil if the node accepted a write. It replaces a broken connection at once: the end of a connection does
// not mean that the node has ended. If an answer is late, the next calls continue to wait for it.
func (w *writer) write(ctx context.Context) error {
	fresh := w.conn == nil
	err := w.ask(ctx)
	if err != nil && w.conn == nil && !fresh {
		err = w.ask(ctx)
	}
	return err
}

func (w *writer) ask(ctx context.Context) error {
	if w.conn == nil {
		conn, err := (&net.Dialer{Timeout: answerWithin}).DialContext(ctx, "tcp", w.addr)
		if err != nil {
			return errors.New("it does not accept connections")
		}
		w.conn, w.replies, w.waiting = conn, bufio.NewReader(conn), false
	}
	if err := w.conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return w.dropConnection(err)
	}
	if !w.waiting {
		if _, err := w.conn.Write([]byte(probeWrite)); err != nil {
			return w.dropConnection(err)
		}
		w.waiting = true
	}
	reply, err := w.replies.ReadString('\n')
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout() && reply == "":
		return errUnanswered
	case err != nil:
		return w.dropConnection(err)
	}
	w.waiting = false
	if refusal, ok := strings.CutPrefix(reply, "-"); ok {
		word, _, _ := strings.Cut(strings.TrimSpace(refusal), " ")
		return errors.New(word)
	}
	return nil
}

// dropConnection closes the connection. It returns err in an error that says that the connection broke.
func (w *writer) dropConnection(err error) error {
	w.hangUp()
	return fmt.Errorf("the connection broke: %w", err)
}

func (w *writer) hangUp() {
	if w.conn != nil {
		_ = w.conn.Close() // nothing is lost with it
		w.conn = nil
	}
}
