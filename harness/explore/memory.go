package explore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file keeps what a search knows from the schedules that it has really run, so that others can be run from memory.
//
// A client acts on what it reads alone, so what it does next is a function of all that it has read: a mind. What Redis answers, and
// what is stored after that, is a function of what was stored before, the command, and for some commands the time: a transition. A
// step whose mind and whose transition are known needs neither the client nor Redis. Where something is not known, the schedule up to
// there is really run, and what it shows is kept.

// mostRemembered bounds what a search keeps: minds, contents of the store and transitions together. Each takes about half a kilobyte.
const mostRemembered = 1_000_000

// errUnknown marks a step that nobody has seen yet: it has to be really run.
var errUnknown = errors.New("explore: not known from memory")

// memory holds what a search knows. The scheduler alone uses it. Where a step turns out not to follow from what is kept, broken says
// why, and the search goes on without memory.
type memory struct {
	root     mind                 // of every client, and of the program's own looks at the store
	stores   map[string]*contents // by all that they hold
	empty    *contents            // what is stored when a schedule begins
	scripts  *command.Scripts
	watched  []string // keys that some client has watched
	size     int      // minds, contents and transitions
	recalled int      // schedules that were run from memory to their end
	broken   string   // empty: it works
}

func newMemory() *memory {
	m := &memory{stores: map[string]*contents{}, scripts: command.NewScripts(nil)}
	m.empty = m.contents(nil, allScripts)
	return m
}

// works reports whether schedules can be run from memory. A nil memory does not work.
func (m *memory) works() bool { return m != nil && m.broken == "" }

// disable ends the use of the memory, for a reason.
func (m *memory) disable(format string, args ...any) {
	if m.works() {
		m.broken = fmt.Sprintf(format, args...)
	}
}

// grow counts what is kept anew.
func (m *memory) grow() {
	if m.size++; m.size > mostRemembered {
		m.disable("there are more than %d minds, contents and replies to remember", mostRemembered)
	}
}

// whyNotRepeatable says why the outcome of a command does not follow from what is kept. It is empty if it does, or if all that is
// missing is the text of its script.
func (m *memory) whyNotRepeatable(c *command.Command, transaction []byte) string {
	if _, ok := m.scripts.MeaningOf(c, transaction); ok || m.scripts.IsUnseen(c.Args) {
		return ""
	}
	return "the outcome of " + strings.ToUpper(command.Name(c.Args)) + " depends on more than what is stored"
}

// remembers reports whether the search may run schedules from memory.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.Unremembered && !s.spec.forgetful && worlds[0].SetsClocks() && p.Gate == interleave.InProcess
}
