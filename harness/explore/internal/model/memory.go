// Package model holds what a search knows from the schedules that it has really run, so that others can be run from
// memory.
//
// A client acts on what it reads alone, so what it does next is a function of all that it has read: a [Mind]. What
// Redis answers, and what is stored after that, is a function of what was stored before ([Contents]), the command, and
// for some commands the time (a [Question]): a [Transition]. A step whose mind and whose transition are known needs
// neither the client nor Redis. Where something is not known, a schedule that begins in the same way is really run, and
// what it shows is kept.
package model

import (
	"errors"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// mostRemembered bounds what a search keeps: minds, contents of the store and transitions together. Each takes about
// half a kilobyte.
const mostRemembered = 1_000_000

// ErrUnknown marks a step that nobody has seen yet: it has to be really run.
var ErrUnknown = errors.New("explore: not known from memory")

// Memory holds what a search knows. One goroutine uses it at a time. Where a step turns out not to follow from what is
// kept, Broken says why, and the search goes on without memory.
type Memory struct {
	Root     Mind      // of every client, and of the program's own looks at the store
	Empty    *Contents // what is stored when a schedule begins
	Scripts  *command.Scripts
	Watched  []string // keys that some client has watched
	Recalled int      // schedules that were run from memory to their end
	Broken   string   // empty: it works

	stores map[string]*Contents // by all that they hold
	size   int                  // minds, contents and transitions
}

// New returns an empty memory.
func New() *Memory {
	m := &Memory{stores: map[string]*Contents{}, Scripts: command.NewScripts(nil)}
	m.Empty = m.Contents(nil, AllScripts)
	return m
}

// Works reports whether schedules can be run from memory. A nil memory does not work.
func (m *Memory) Works() bool { return m != nil && m.Broken == "" }

// Disable ends the use of the memory, for a reason.
func (m *Memory) Disable(format string, args ...any) {
	if m.Works() {
		m.Broken = fmt.Sprintf(format, args...)
	}
}

// grow counts what is kept anew.
func (m *Memory) grow() {
	if m.size++; m.size > mostRemembered {
		m.Disable("there are more than %d minds, contents and replies to remember", mostRemembered)
	}
}

// WhyNotRepeatable says why the outcome of a command does not follow from what is kept. It is empty if it does, or if
// all that is missing is the text of its script.
func (m *Memory) WhyNotRepeatable(c *command.Command, transaction []byte) string {
	if _, ok := m.Scripts.MeaningOf(c, transaction); ok || m.Scripts.IsUnseen(c.Args) {
		return ""
	}
	return "the outcome of " + strings.ToUpper(command.Name(c.Args)) + " depends on more than what is stored"
}
