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

// subjectJoin is where generators ask to join.
const subjectJoin = "join"

// place is what a generator has in a team: its subjects are its own alone. Whoever still serves a coordinator that was
// killed answers to others.
type place struct {
	Team   string `json:"team"`   // that no other team has
	Number int    `json:"number"` // of the generator, from 1
}

func (p place) clock() string  { return p.subject("clock") }  // where the coordinator asks for the time
func (p place) do() string     { return p.subject("do") }     // where it asks for anything else
func (p place) record() string { return p.subject("record") } // where the generator brings what its clients record

func (p place) subject(what string) string { return fmt.Sprintf("%s.%d.%s", p.Team, p.Number, what) }

// hello is what a generator says when it joins.
type hello struct {
	Name string `json:"name"` // that no other has
}

// welcome is the answer to it.
type welcome struct {
	place
	Refused string `json:"refused,omitempty"` // why it is not wanted; empty: it is
}

// order is what the coordinator asks a generator to do. Do says which of the other fields count. One with a Number that
// was there before is the same order again: its answer was lost.
type order struct {
	Number int    `json:"number"`
	Do     string `json:"do"`

	Share harness.Share     `json:"share,omitzero"`
	Task  []byte            `json:"task,omitempty"` // what the run is
	Links []harness.Link    `json:"links,omitempty"`
	Fault harness.LinkFault `json:"fault,omitzero"`
	Heals int               `json:"heals,omitempty"` // number of the order that impaired
	Link  harness.Link      `json:"link,omitzero"`
	Size  int               `json:"size,omitempty"`
	For   time.Duration     `json:"for,omitempty"`   // how long to try
	Ahead time.Duration     `json:"ahead,omitempty"` // of our clock before theirs, about
}

// What there is to do.
const (
	doOpen        = "open"        // open the clients of Share, of the run Task
	doBegin       = "begin"       // let them step
	doStop        = "stop"        // the load is over: begin nothing new
	doImpair      = "impair"      // do Fault to Links
	doHeal        = "heal"        // undo it
	doTouched     = "touched"     // tell what faults touched on Link
	doConnections = "connections" // tell how many connections of clients lead to Link.To
	doProbe       = "probe"       // look along Link
	doEcho        = "echo"        // have Size bytes sent back along Link
	doHangup      = "hangup"      // end a connection along Link
	doLeave       = "leave"       // the run is over
)

// done is the answer to an order.
type done struct {
	Error       string          `json:"error,omitempty"`
	Kind        errorKind       `json:"kind,omitempty"` // of the error
	Touched     harness.Touched `json:"touched,omitzero"`
	Connections int             `json:"connections,omitempty"`
}

// errorKind is what whoever looks along a link asks of an error; empty: nothing.
type errorKind string

const (
	timedOut errorKind = "timeout"
	undialed errorKind = "dial"
)

func kindOf(err error) errorKind {
	var dial *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return undialed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut
	}
	return ""
}

// err returns the error of an answer, of its kind.
func (d done) err() error {
	switch {
	case d.Error == "":
		return nil
	case d.Kind == timedOut:
		return fmt.Errorf("%s: %w", d.Error, os.ErrDeadlineExceeded)
	case d.Kind == undialed:
		return &net.OpError{Op: "dial", Err: errors.New(d.Error)}
	}
	return errors.New(d.Error)
}

// record is what a generator brings: operations and events by its own clock, in order.
type record struct {
	Number int             `json:"number"` // of the record, from 1
	Mark   time.Duration   `json:"mark"`   // no later operation returned before
	Events []harness.Event `json:"events,omitempty"`
	Over   bool            `json:"over,omitempty"`  // it is the last
	Error  string          `json:"error,omitempty"` // of the load; with Over

	ops []harness.Op
}

// pack returns a record as a line of JSON, and its operations behind it.
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
		return r, errors.New("a record without a head")
	}
	if err = json.Unmarshal(head, &r); err == nil {
		r.ops, err = history.Unpack(ops)
	}
	return r, err
}

// taken is the answer to a record.
type taken struct {
	Error string `json:"error,omitempty"` // it was not, and nothing more is
}

// encode returns JSON of what always has one.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("generators: a defect: %v", err))
	}
	return text
}
