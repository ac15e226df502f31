package explore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Each reason for which two moves depend on each other is the only one in one case, and missing in another.
func TestWhichMovesAreIndependent(t *testing.T) {
	reads, writes, elsewhere := command.Access{Reads: []string{"k"}}, command.Access{Writes: []string{"k"}}, command.Access{Writes: []string{"j"}}
	a, b := move{choice: interleave.Run(0), access: reads}, move{choice: interleave.Run(1), access: reads}
	with := func(m move, change func(*move)) move { change(&m); return m }
	begins, ends := func(m *move) { m.begins = true }, func(m *move) { m.ends = true }
	near := move{choice: interleave.StopReplication, approaches: true, timePasses: true}
	for _, c := range []struct {
		name        string
		did, asleep move
		want        bool
	}{
		{"two reads", a, b, true},
		{"of one client", a, a, false},
		{"read and write", a, with(b, func(m *move) { m.access = writes }), false},
		{"write and read", with(a, func(m *move) { m.access = writes }), b, false},
		{"anything and a read", with(a, func(m *move) { m.access.Everything = true }), b, false},
		{"a read and anything", a, with(b, func(m *move) { m.access.Everything = true }), false},
		{"anything and what touches nothing", with(a, func(m *move) { m.access.Everything = true }), with(b, func(m *move) { m.access = command.Access{} }), false},
		{"two writes", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = writes }), false},
		{"writes of two keys", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = elsewhere }), true},
		{"a crash", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access = writes }), true},
		{"a crash, then anything", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access.Everything = true }), true},
		{"a crash in a wait for that key", move{choice: interleave.Crash(0), access: writes}, with(b, func(m *move) { m.access = writes }), false},
		{"a crash of that client", move{choice: interleave.Crash(1)}, b, false},
		{"two lost answers", move{choice: interleave.LoseAnswer(0)}, move{choice: interleave.LoseAnswer(1)}, false},
		{"a lost answer and a command", move{choice: interleave.LoseAnswer(0)}, b, true},
		{"a lost answer and a lost command", move{choice: interleave.LoseAnswer(0)}, move{choice: interleave.LoseCommand(1)}, true},
		{"to the last millisecond", near, b, true},
		{"to the last millisecond, then begun", near, with(b, begins), false},
		{"to the last millisecond, then timely", near, with(b, func(m *move) { m.timely = true }), false},
		{"to the last millisecond, then time", near, with(b, func(m *move) { m.timePasses = true }), false},
		{"to the last millisecond, then the world", near, with(b, func(m *move) { m.world = true }), false},
		{"time", move{choice: interleave.StopReplication, timePasses: true}, b, false},
		{"then time", a, with(b, func(m *move) { m.timePasses = true }), false},
		{"the world", move{choice: interleave.StopReplication, world: true}, b, false},
		{"then the world", a, with(b, func(m *move) { m.world = true }), false},
		{"an answer that has come, then anything", with(a, func(m *move) { m.access, m.silent = command.Access{}, true }), with(b, func(m *move) { m.access.Everything = true }), true},
		{"anything, then an answer that has come", with(a, func(m *move) { m.access.Everything = true }), with(b, func(m *move) { m.access, m.silent = command.Access{}, true }), true},
		{"both begin", with(a, begins), with(b, begins), true},
		{"both end", with(a, ends), with(b, ends), true},
		{"begins, ends", with(a, begins), with(b, ends), false},
		{"ends, begins", with(a, ends), with(b, begins), false},
		{"looked at after an end, then written", with(a, func(m *move) { m.observes, m.ends = true, true }), with(b, func(m *move) { m.access = elsewhere }), false},
		{"looked at after an end, then read", with(a, func(m *move) { m.observes, m.ends = true, true }), b, true},
		{"not looked at after an end, then written", with(a, ends), with(b, func(m *move) { m.access = elsewhere }), true},
		{"looked at, no end, then written", with(a, func(m *move) { m.observes = true }), with(b, func(m *move) { m.access = elsewhere }), true},
		{"written, then looked at after an end", with(a, func(m *move) { m.observes, m.access = true, elsewhere }), with(b, ends), false},
		{"written, then looked at, no end", with(a, func(m *move) { m.observes, m.access = true, elsewhere }), b, true},
	} {
		require.Equal(t, c.want, independent(c.did, c.asleep), c.name)
	}
}
