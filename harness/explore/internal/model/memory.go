// Package model holds what a search has learned from live schedules, so that others can be run from memory.
//
// A client acts only on what it reads. So its next action is a function of everything that it has read, which is its
// [Mind]. A command's reply and the store after it, a [Transition], are a function of the store before ([Contents]) and
// of a [Question]: the command and, if the reply depends on it, the time. A step whose mind and transition are known
// needs neither the client nor Redis. Otherwise a schedule with the same beginning is run live, and the model learns
// from it.
package model

import (
	"errors"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// mostRemembered bounds the entries of a memory (Mind, Contents and Transition), of about half a kilobyte each.
const mostRemembered = 1_000_000

// ErrUnknown marks a step that memory does not know and that has to be run live.
var ErrUnknown = errors.New("explore: not known from memory")

// Memory holds what a search has learned. It is not safe for concurrent use. If a step turns out to depend on more than
// what is stored here, Broken says why, and the search goes on without memory.
type Memory struct {
	Root     Mind      // mind with which every client, and every call of Observe or Finally, begins
	Empty    *Contents // the store when a schedule begins
	Scripts  *command.Scripts
	Watched  []string // keys that some client has watched
	Recalled int      // schedules that were run from memory to their end
	Broken   string   // why memory is no longer used; empty: memory is used

	stores map[string]*Contents // all contents, by a text with their keys and script cache
	size   int                  // number of minds, contents and transitions
}

// New returns an empty memory.
func New() *Memory {
	m := &Memory{stores: map[string]*Contents{}, Scripts: command.NewScripts(nil)}
	m.Empty = m.Contents(nil, AllScripts)
	return m
}

// Works reports whether schedules can be run from memory. It is false for a nil memory.
func (m *Memory) Works() bool { return m != nil && m.Broken == "" }

// Disable stops the use of the memory and stores the reason.
func (m *Memory) Disable(format string, args ...any) {
	if m.Works() {
		m.Broken = fmt.Sprintf(format, args...)
	}
}

func (m *Memory) grow() {
	if m.size++; m.size > mostRemembered {
		m.Disable("there are more than %d client states, contents and replies to remember", mostRemembered)
	}
}

// WhyNotRepeatable says why a command cannot be run from memory: its outcome depends on more than the store, the
// command and the time. It is empty if the command can be run, or if only the text of a script is not known yet.
func (m *Memory) WhyNotRepeatable(c *command.Command, transaction []byte) string {
	if _, ok := m.Scripts.MeaningOf(c, transaction); ok || m.Scripts.IsUnseen(c.Args) {
		return ""
	}
	return "the outcome of " + strings.ToUpper(command.Name(c.Args)) + " depends on more than what is stored"
}
