package explore

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file tells on what the outcome of a command depends.

// meaning holds the text of a command and what its outcome depends on, apart from the contents of the store.
type meaning struct {
	text  string // its bytes
	ms    bool   // on the time of day, in milliseconds
	exact bool   // on the time of day, to the last digit
	sets  bool   // it may give a key a TTL
	clock bool   // as readsClock says
	wants int64  // of a WAIT: the acknowledgements that it asks for
	wait  time.Duration
}

// meaningOf returns the meaning of a command; of an EXEC, with the commands of its transaction. ok is false if its outcome does not follow
// from what is kept, or if it runs a script that was never seen.
func (s *knownScripts) meaningOf(c *command, transaction []byte) (*meaning, bool) {
	if c.meaning != nil {
		return c.meaning, true
	}
	n := commandName(c.args)
	if !repeats(c.args) || c.blocks() {
		return nil, false
	}
	means := meaning{
		text: string(c.raw), ms: c.timely() || n == "exec", sets: c.setsTTL(), clock: s.readsClock(c.args), wants: c.wantedAcks(), wait: c.waitTimeout(),
	}
	all := [][][]byte{c.args}
	if n == "exec" {
		all = append(all, resp.ParseAll(transaction)...)
	}
	for _, args := range all {
		if !repeats(args) || s.isUnseen(args) || !s.traits(s.of(args)).repeats {
			return nil, false
		}
		means.exact = means.exact || s.readsClock(args)
	}
	c.meaning = &means
	return c.meaning, true
}
