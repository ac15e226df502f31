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
	// writeEvery is the time between two writes to a node, hence the resolution of "writable" and "unwritable" events.
	writeEvery = 10 * time.Millisecond
	// answerWithin is the time after which a node that has not answered a write counts as taking none.
	answerWithin = 200 * time.Millisecond
)

// aWrite is a write command that changes nothing and is not replicated, since its key is never there. It is refused, or
// kept waiting, as any other write is.
const aWrite = "*2\r\n$3\r\nDEL\r\n$23\r\ndoublegrant:write-probe\r\n"

// watchWrites reports when the node begins to take writes and when it ceases to. In the latter case it calls ceased as
// well.
func (n *node) watchWrites(ctx context.Context, clock harness.Clock, events func(harness.Event),
	ceased func(node string)) {
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
			if err.Error() == readOnly { // sooner than watchRole, whose connection a Sentinel ends with the demotion
				events(harness.Event{At: now, Node: n.name, Kind: harness.EventRole, Detail: harness.RoleReplica})
			}
			ceased(n.name)
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

// writer writes to one node on a connection of its own. It does not use a go-redis client: that would dial a node that
// is down once a second only.
type writer struct {
	addr    string
	conn    net.Conn // nil: none is open
	replies *bufio.Reader
	waiting bool // a write was sent and not answered yet
}

// readOnly is the refusal of a replica.
const readOnly = "READONLY"

var errUnanswered = fmt.Errorf("no answer within %v", answerWithin)

// write returns nil if the node took a write. It replaces a broken connection at once, so that its end alone is not
// taken for the node's. If an answer has not come in time, the next calls go on waiting for it.
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
		if _, err := w.conn.Write([]byte(aWrite)); err != nil {
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

// dropConnection gives the connection up.
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
