package command

import (
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file knows what the outcome of a command depends on.

// Meaning is the text of a command and what its outcome depends on besides the store.
type Meaning struct {
	Text  string // bytes of the command
	MS    bool   // depends on the time of day in milliseconds
	Exact bool   // depends on the exact time of day
	Sets  bool   // may give a key a TTL
	Clock bool   // see Scripts.ReadsClock
}

// MeaningOf returns the meaning of a command. For an EXEC it covers the commands in the parameter transaction. The
// second result is false if a script has never been seen, or if the outcome depends on more than Meaning can say.
func (s *Scripts) MeaningOf(c *Command, transaction []byte) (*Meaning, bool) {
	if c.Meaning != nil {
		return c.Meaning, true
	}
	n := Name(c.Args)
	if !Repeats(c.Args) || c.Blocks() {
		return nil, false
	}
	means := Meaning{
		Text: string(c.Raw), MS: c.DependsOnTime() || n == "exec", Sets: c.SetsTTL(), Clock: s.ReadsClock(c.Args),
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
