package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Each reason for two moves to depend on each other is tested alone: once present, once missing.
func TestWhichMovesAreIndependent(t *testing.T) {
	reads, writes, elsewhere := command.Access{Reads: []string{"k"}}, command.Access{Writes: []string{"k"}},
		command.Access{Writes: []string{"j"}}
	a, b := Move{Choice: interleave.Run(0), Access: reads}, Move{Choice: interleave.Run(1), Access: reads}
	with := func(m Move, change func(*Move)) Move { change(&m); return m }
	begins, ends := func(m *Move) { m.Begins = true }, func(m *Move) { m.Ends = true }
	near := Move{Choice: interleave.StopReplication, Approaches: true, TimePasses: true}
	for _, c := range []struct {
		name        string
		did, asleep Move
		want        bool
	}{
		{"two reads", a, b, true},
		{"of one client", a, a, false},
		{"read and write", a, with(b, func(m *Move) { m.Access = writes }), false},
		{"write and read", with(a, func(m *Move) { m.Access = writes }), b, false},
		{"anything and a read", with(a, func(m *Move) { m.Access.Everything = true }), b, false},
		{"a read and anything", a, with(b, func(m *Move) { m.Access.Everything = true }), false},
		{"anything and what touches nothing", with(a, func(m *Move) { m.Access.Everything = true }),
			with(b, func(m *Move) { m.Access = command.Access{} }), false},
		{"two writes", with(a, func(m *Move) { m.Access = writes }), with(b, func(m *Move) {
			m.Access = writes
		}), false},
		{"writes of two keys", with(a, func(m *Move) { m.Access = writes }), with(b, func(m *Move) {
			m.Access = elsewhere
		}), true},
		{"one memory", with(a, func(m *Move) { m.Memory = 1 }), with(b, func(m *Move) { m.Memory = 1 }), false},
		{"two memories", with(a, func(m *Move) { m.Memory = 1 }), with(b, func(m *Move) { m.Memory = 2 }), true},
		{"a late command, then a read", Move{Choice: interleave.Delay(0)}, b, false},
		{"a crash", Move{Choice: interleave.Crash(0)}, with(b, func(m *Move) { m.Access = writes }), true},
		{"a crash, then anything", Move{Choice: interleave.Crash(0)}, with(b, func(m *Move) {
			m.Access.Everything = true
		}), true},
		{"a crash in a wait for that key", Move{Choice: interleave.Crash(0), Access: writes}, with(b, func(m *Move) {
			m.Access = writes
		}), false},
		{"a crash of that client", Move{Choice: interleave.Crash(1)}, b, false},
		{"two lost answers", Move{Choice: interleave.LoseAnswer(0)}, Move{Choice: interleave.LoseAnswer(1)}, false},
		{"a lost answer and a command", Move{Choice: interleave.LoseAnswer(0)}, b, true},
		{"a lost answer and a lost command", Move{Choice: interleave.LoseAnswer(0)},
			Move{Choice: interleave.LoseCommand(1)}, true},
		{"to the last millisecond", near, b, true},
		{"to the last millisecond, then begun", near, with(b, begins), false},
		{"to the last millisecond, then timely", near, with(b, func(m *Move) { m.DependsOnTime = true }), false},
		{"to the last millisecond, then time", near, with(b, func(m *Move) { m.TimePasses = true }), false},
		{"to the last millisecond, then the world", near, with(b, func(m *Move) { m.World = true }), false},
		{"time", Move{Choice: interleave.StopReplication, TimePasses: true}, b, false},
		{"then time", a, with(b, func(m *Move) { m.TimePasses = true }), false},
		{"the world", Move{Choice: interleave.StopReplication, World: true}, b, false},
		{"then the world", a, with(b, func(m *Move) { m.World = true }), false},
		{"an answer that has come, then anything",
			with(a, func(m *Move) { m.Access, m.Silent = command.Access{}, true }), with(b, func(m *Move) {
				m.Access.Everything = true
			}), true},
		{"anything, then an answer that has come", with(a, func(m *Move) { m.Access.Everything = true }),
			with(b, func(m *Move) { m.Access, m.Silent = command.Access{}, true }), true},
		{"both begin", with(a, begins), with(b, begins), true},
		{"both end", with(a, ends), with(b, ends), true},
		{"begins, ends", with(a, begins), with(b, ends), false},
		{"ends, begins", with(a, ends), with(b, begins), false},
		{"looked at after an end, then written", with(a, func(m *Move) { m.Observes, m.Ends = true, true }),
			with(b, func(m *Move) { m.Access = elsewhere }), false},
		{"looked at after an end, then read", with(a, func(m *Move) { m.Observes, m.Ends = true, true }), b, true},
		{"not looked at after an end, then written", with(a, ends), with(b, func(m *Move) {
			m.Access = elsewhere
		}), true},
		{"looked at, no end, then written", with(a, func(m *Move) { m.Observes = true }), with(b, func(m *Move) {
			m.Access = elsewhere
		}), true},
		{"written, then looked at after an end", with(a, func(m *Move) {
			m.Observes, m.Access = true, elsewhere
		}), with(b, ends), false},
		{"written, then looked at, no end", with(a, func(m *Move) { m.Observes, m.Access = true, elsewhere }), b, true},
	} {
		require.Equal(t, c.want, Independent(c.did, c.asleep), c.name)
	}
}

func TestWhetherAChoiceIsAmongMoves(t *testing.T) {
	moves := []Move{{Choice: interleave.Run(0)}, {Choice: interleave.Crash(1)}}
	require.True(t, Contains(moves, interleave.Crash(1)))
	require.False(t, Contains(moves, interleave.Run(1)))
	require.False(t, Contains(nil, interleave.Run(1)))
}
