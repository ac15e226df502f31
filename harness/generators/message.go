package generators

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

// subjectJoin is the subject on which generators ask to join.
const subjectJoin = "join"

// place is a generator's place in a team. It is part of the subjects of its messages. So a generator that still serves
// a killed coordinator does not disturb the team of the next one.
type place struct {
	Team   string `json:"team"`   // unique id of the team
	Number int    `json:"number"` // number of the generator, from 1
}

func (p place) clock() string  { return p.subject("clock") }  // where the coordinator asks for the time
func (p place) do() string     { return p.subject("do") }     // where it asks for anything else
func (p place) record() string { return p.subject("record") } // where the generator brings what its clients record

func (p place) subject(what string) string { return fmt.Sprintf("%s.%d.%s", p.Team, p.Number, what) }

// hello is the message with which a generator joins.
type hello struct {
	Name string `json:"name"` // unique among the generators
}

// welcome is the answer to a hello.
type welcome struct {
	place
	Refused string `json:"refused,omitempty"` // why the generator cannot join; empty: the generator has joined
}

// order is a request of the coordinator to a generator. Do says which of the other fields count. The coordinator
// repeats an order, with the same Number, until it gets an answer.
type order struct {
	Number int    `json:"number"` // number of the order, unique among the orders to one generator
	Do     string `json:"do"`

	Share harness.Share     `json:"share,omitzero"`
	Task  []byte            `json:"task,omitempty"` // description of the run
	Links []harness.Link    `json:"links,omitempty"`
	Fault harness.LinkFault `json:"fault,omitzero"`
	Heals int               `json:"heals,omitempty"` // number of the doImpair order to undo
	Link  harness.Link      `json:"link,omitzero"`
	Size  int               `json:"size,omitempty"`
	For   time.Duration     `json:"for,omitempty"`   // time limit of the order
	Ahead time.Duration     `json:"ahead,omitempty"` // roughly how far our clock is ahead of the generator's
}

// The values of Do.
const (
	doOpen        = "open"        // open the clients of Share, of the run Task
	doBegin       = "begin"       // let the clients begin their operations
	doStop        = "stop"        // end the load
	doImpair      = "impair"      // apply Fault to Links
	doHeal        = "heal"        // undo the doImpair order whose number is Heals
	doTouched     = "touched"     // return what faults touched on Link
	doConnections = "connections" // return the number of the clients' connections to Link.To
	doProbe       = "probe"       // probe Link
	doEcho        = "echo"        // have Size bytes sent back along Link
	doHangup      = "hangup"      // end a connection along Link
	doLeave       = "leave"       // the run is over
)

// orderReply is the answer to an order.
type orderReply struct {
	Error       string          `json:"error,omitempty"`
	Kind        errorKind       `json:"kind,omitempty"` // kind of the error
	Touched     harness.Touched `json:"touched,omitzero"`
	Connections int             `json:"connections,omitempty"`
}

// errorKind is a kind of error that callers of Probe tell from others; empty: any other error.
type errorKind string

const (
	timedOut   errorKind = "timeout"
	dialFailed errorKind = "dial"
)

func kindOf(err error) errorKind {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return dialFailed
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return timedOut
	}
	return ""
}

// err returns the error of the order, or nil. Callers can still tell a timeout and a failed dial from other errors.
func (d orderReply) err() error {
	switch {
	case d.Error == "":
		return nil
	case d.Kind == timedOut:
		return fmt.Errorf("%s: %w", d.Error, os.ErrDeadlineExceeded)
	case d.Kind == dialFailed:
		return &net.OpError{Op: "dial", Err: errors.New(d.Error)}
	}
	return errors.New(d.Error)
}

// record is what a generator sends: operations and events with times on its own clock, in order.
type record struct {
	Number int             `json:"number"` // number of the record, from 1
	Mark   time.Duration   `json:"mark"`   // no operation in a later record returns before this time
	Events []harness.Event `json:"events,omitempty"`
	Over   bool            `json:"over,omitempty"`  // this is the last record
	Error  string          `json:"error,omitempty"` // error of the load; only in the last record

	ops []harness.Op
}

// pack returns a record as a line of JSON, followed by its operations.
func (r record) pack() ([]byte, error) {
	head, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ops, err := history.Pack(r.ops)
	return append(append(head, '\n'), ops...), err
}

func unpackRecord(packed []byte) (r record, err error) {
	head, ops, found := bytes.Cut(packed, []byte("\n"))
	if !found {
		return r, errors.New("a record without a header")
	}
	if err = json.Unmarshal(head, &r); err == nil {
		r.ops, err = history.Unpack(ops)
	}
	return r, err
}

// recordAck is the answer to a record.
type recordAck struct {
	Error string `json:"error,omitempty"` // why the record was refused, as all later ones will be; empty: not refused
}

// encode returns v as JSON. It panics if that fails, which only a defect can cause.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("generators: a defect: %v", err))
	}
	return text
}
