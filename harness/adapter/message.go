package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/workloads"
)

// Version is the version of the protocol that both sides speak.
const Version = 1

// longestLine bounds a line of a program, in bytes.
const longestLine = 64 << 10

// page is the end of error messages. It names the file that describes the protocol.
const page = "see workloads/adapters/README.md"

// The protocol's names, other than operations: requests to a program, and the questions that the program may ask before
// it answers.
const (
	doInit  = "init"
	doReset = "reset"
	doRun   = "run" // runs a thread that the program has asked for

	askNow   = "now"
	askSleep = "sleep"
	askStart = "start" // starts a thread
	askStop  = "stop"  // stops a thread: its sleep ends at once, and so do its later sleeps
	askJoin  = "join"  // waits until a thread has ended

	askMessage   = "message"   // waits until there is a message to read
	askSubscribe = "subscribe" // announces that the program subscribes without waiting for the confirmation
)

// questions lists what a program may ask while an operation or a thread is under way.
var questions = []string{askNow, askSleep, askStart, askStop, askJoin, askMessage, askSubscribe}

// request is a line to a program: an operation, or the answer to a question.
type request struct {
	ID       int      `json:"id"`           // id of the operation, from 1
	Do       string   `json:"do,omitempty"` // what to do; empty: the request is the answer to a question
	Version  int      `json:"version,omitempty"`
	Family   string   `json:"family,omitempty"`
	Redis    string   `json:"redis,omitempty"`
	Masters  []string `json:"masters,omitempty"` // all masters that a lock has to ask; the field Redis has the first
	Timeout  int64    `json:"timeout_ms,omitempty"`
	Client   int      `json:"client,omitempty"` // number of the client, from 1
	Key      string   `json:"key,omitempty"`
	Owner    string   `json:"owner,omitempty"`
	TTL      int64    `json:"ttl_ms,omitempty"`
	Proposed string   `json:"proposed,omitempty"`
	Now      int64    `json:"now_ms,omitempty"`
	Thread   int      `json:"thread,omitempty"`  // the thread that was started, stopped or joined
	Message  bool     `json:"message,omitempty"` // there is a message to read
	TimedOut bool     `json:"timeout,omitempty"` // no message came in time
	// Stopped says that the sleep was cut short: the thread was stopped, or its client has crashed.
	Stopped bool `json:"stopped,omitempty"`
}

// answer is a line of a program: the outcome of an operation, or a question while it is under way.
type answer struct {
	ID   int    `json:"id"`
	OK   *bool  `json:"ok"`
	Fail string `json:"fail"` // why certainly nothing was done
	Info string `json:"info"` // why it is unknown whether the operation was done

	Number drawn `json:"number"` // the number that an operation "next" has drawn

	Ask    string `json:"ask"`    // the question, such as askNow
	MS     int64  `json:"ms"`     // how long to sleep
	Thread int    `json:"thread"` // the thread to stop or join

	Timeout int64 `json:"timeout_ms"` // how long to wait for a message; 0: for ever

	// Fields of the answer to init.
	Version   int      `json:"version"`
	Can       []string `json:"can"`
	Clients   int      `json:"clients"` // how many clients one process serves at the same time; 0: any number
	Reset     bool     `json:"reset"`   // the program wants to be told of every new schedule
	Symmetric bool     `json:"symmetric"`
	Masters   int      `json:"masters"` // least number of independent masters that the program uses; 0: one Redis

	Clock workloads.AdapterClock `json:"clock"`
}

// drawn is a number as the program has written it: a JSON number, or a string of decimal digits. Only a string may have
// leading zeros, which do not change the number.
type drawn string

// UnmarshalJSON reads a JSON number or a string.
func (d *drawn) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		return nil
	}
	if b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	if !json.Valid(b) || !decimal.MatchString(text) {
		return fmt.Errorf("%w: %.40s", errNoNumber, b)
	}
	*d = drawn(text)
	return nil
}

var (
	decimal = regexp.MustCompile(`^-?[0-9]+$`)
	// zerosIn finds a number with leading zeros, which JSON does not allow.
	zerosIn     = regexp.MustCompile(`"number"\s*:\s*(-?0[0-9]+)`)
	errNoNumber = errors.New("want a whole number in decimal digits")
)

// parse reads a line of a program.
func parse(line []byte) (a answer, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		if zeros := zerosIn.FindSubmatch(line); zeros != nil {
			return a, fmt.Errorf("it drew the number %s, and JSON has none with zeros before it: leave them out, or "+
				"put it in quotes, %s", zeros[1], page)
		}
		if errors.Is(err, errNoNumber) {
			return a, fmt.Errorf("the number that it drew: %w, %s", err, page)
		}
		return a, fmt.Errorf("it wrote %.60q, which is not a line of the protocol: write nothing but answers to "+
			"standard output, %s", line, page)
	}
	said := []bool{a.OK != nil, a.Fail != "", a.Info != "", a.Ask != ""}
	said = slices.DeleteFunc(said, func(is bool) bool { return !is })
	switch {
	case a.ID == 0:
		return a, fmt.Errorf("it wrote %.60q, which has no id: an answer has the id of what was asked, %s", line, page)
	case len(said) != 1:
		return a, fmt.Errorf("it wrote %.60q: want one of ok, fail, info and ask, %s", line, page)
	case a.Ask != "" && !slices.Contains(questions, a.Ask):
		return a, fmt.Errorf("it asked for %q: it can ask for %s, %s", a.Ask, strings.Join(questions, ", "), page)
	}
	return a, nil
}

// result returns the outcome of an operation: true for yes, false for no, or an error. The error wraps errNothingDone
// if certainly nothing was done.
func (a answer) result() (bool, error) {
	switch {
	case a.Info != "":
		return false, errors.New(a.Info)
	case a.Fail != "":
		return false, fmt.Errorf("%w: %s", errNothingDone, a.Fail)
	}
	return *a.OK, nil
}
