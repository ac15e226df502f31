package explore

import (
	"errors"
	"fmt"
	"strings"
	"time"

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
	scripts  map[string]string    // texts of scripts, by hash
	read     readScripts
	watched  []string // keys that some client has watched
	size     int      // minds, contents and transitions
	recalled int      // schedules that were run from memory to their end
	broken   string   // empty: it works
}

func newMemory() *memory {
	m := &memory{stores: map[string]*contents{}, scripts: map[string]string{}, read: readScripts{}}
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

// learnScript keeps the text of a script that a command runs or loads.
func (m *memory) learnScript(args [][]byte) {
	if body, ok := scriptIn(args); ok {
		m.scripts[scriptHash(body)] = body
	}
}

// scriptIn returns the text of the script that EVAL or SCRIPT LOAD brings.
func scriptIn(args [][]byte) (body string, ok bool) {
	switch n := commandName(args); {
	case n == "eval" && len(args) > 1:
		return string(args[1]), true
	case n == "script" && len(args) > 2 && strings.EqualFold(string(args[1]), "load"):
		return string(args[2]), true
	}
	return "", false
}

// repeatable lists commands, in addition to those of touches, whose reply and effect follow from what is stored and the time of day.
// That holds for the order in which one server lists a set or a hash, too.
var repeatable = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields("eval evalsha exec time getbit setbit bitcount incrbyfloat hincrbyfloat hstrlen hkeys hvals zincrby zcount " +
		"zrank zrevrange zrangebyscore zremrangebyscore zremrangebyrank rpushx lpushx linsert lset lpos smove sunion sinter sdiff mset msetnx " +
		"rename renamenx copy pfadd pfcount wait publish") {
		m[n] = true
	}
	return m
}()

// repeats reports whether the outcome of a command follows from what is stored, and from the time.
func repeats(args [][]byte) bool {
	n := commandName(args)
	if n == "script" {
		return len(args) > 2 && strings.EqualFold(string(args[1]), "load")
	}
	if repeatable[n] {
		return true
	}
	switch t := touches[n]; t {
	case reads, readsAll, writes, writeAll:
		return true
	case moves:
		return n == "rpoplpush" || n == "lmove"
	}
	return false
}

// meaning holds the text of a command and what its outcome depends on, apart from the contents of the store.
type meaning struct {
	text  string // its bytes
	ms    bool   // on the time of day, in milliseconds
	exact bool   // on the time of day, to the last digit
	sets  bool   // it may give a key a TTL
	clock bool   // as command.readsClock says
	wants int64  // of a WAIT: the acknowledgements that it asks for
	wait  time.Duration
}

// meaningOf returns the meaning of a command. ok is false if its outcome does not follow from what is kept, or if it runs a script
// whose text is not known yet.
func (m *memory) meaningOf(c *command, on *conn) (*meaning, bool) {
	if c.meaning != nil {
		return c.meaning, true
	}
	n := commandName(c.args)
	if !repeats(c.args) || c.blocks() {
		return nil, false
	}
	means := meaning{
		text: string(c.raw), ms: c.timely() || n == "exec", exact: clockIn(c.args, m.scripts, m.read), sets: c.setsTTL(), wants: c.wantedAcks(), wait: c.waitTimeout(),
	}
	all := [][][]byte{c.args}
	if n == "exec" && on != nil && on.multi {
		all = parseAll(on.transaction)
	}
	for _, args := range all {
		if !repeats(args) || !m.scriptRepeats(args) {
			return nil, false
		}
		means.exact = means.exact || clockIn(args, m.scripts, m.read)
	}
	means.clock = clockIn(c.args, m.scripts, m.read)
	c.meaning = &means
	return c.meaning, true
}

// scriptRepeats reports whether a command runs no script, or one that is known and whose outcome follows from what is stored.
func (m *memory) scriptRepeats(args [][]byte) bool {
	body, runs := scriptIn(args)
	if !runs && commandName(args) == "evalsha" && len(args) > 1 {
		if body, runs = m.scripts[strings.ToLower(string(args[1]))]; !runs {
			return false
		}
	}
	return !runs || m.read.traits(body).repeats
}

// whyNotRepeatable says why the outcome of a command does not follow from what is kept. It is empty if it does, or if all that is
// missing is the text of its script.
func (m *memory) whyNotRepeatable(c *command, on *conn) string {
	if _, ok := m.meaningOf(c, on); ok {
		return ""
	}
	n := commandName(c.args)
	if _, known := m.scripts[strings.ToLower(string(c.args[min(1, len(c.args)-1)]))]; n == "evalsha" && !known {
		return ""
	}
	return "the outcome of " + strings.ToUpper(n) + " depends on more than what is stored"
}

// remembers reports whether the search may run schedules from memory.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.Unremembered && !s.spec.forgetful && worlds[0].fixed != nil && p.Gate == interleave.InProcess
}
