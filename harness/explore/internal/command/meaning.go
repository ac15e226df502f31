package command

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file tells on what the outcome of a command depends.

// Meaning holds the text of a command and what its outcome depends on, apart from the contents of the store.
type Meaning struct {
	Text  string // its bytes
	MS    bool   // on the time of day, in milliseconds
	Exact bool   // on the time of day, to the last digit
	Sets  bool   // it may give a key a TTL
	Clock bool   // as Scripts.ReadsClock says
	Wants int64  // of a WAIT: the acknowledgements that it asks for
	Wait  time.Duration
}

// MeaningOf returns the meaning of a command; of an EXEC, with the commands of its transaction. ok is false if its
// outcome does not follow from what is kept, or if it runs a script that was never seen.
func (s *Scripts) MeaningOf(c *Command, transaction []byte) (*Meaning, bool) {
	if c.Meaning != nil {
		return c.Meaning, true
	}
	n := Name(c.Args)
	if !Repeats(c.Args) || c.Blocks() {
		return nil, false
	}
	means := Meaning{
		Text: string(c.Raw), MS: c.Timely() ||
			n == "exec", Sets: c.SetsTTL(), Clock: s.ReadsClock(c.Args), Wants: c.WantedAcks(), Wait: c.WaitTimeout(),
	}
	all := [][][]byte{c.Args}
	if n == "exec" {
		all = append(all, resp.ParseAll(transaction)...)
	}
	for _, args := range all {
		if !Repeats(args) || s.IsUnseen(args) || !s.TraitsOf(s.Of(args)).Repeats {
			return nil, false
		}
		means.Exact = means.Exact || s.ReadsClock(args)
	}
	c.Meaning = &means
	return c.Meaning, true
}
