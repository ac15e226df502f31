package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Properties of commands that the tests of the table of commands do not see. Each line kills a mutant that went unnoticed, see
// `make mutate`.
func TestWhatCommandsAreByTheirWords(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	w := &world{read: readScripts{}, scripts: map[string]string{sha: `return redis.call("TIME")`}}
	for _, c := range []struct {
		words                 string
		blocks, timely, clock bool
		acks                  int64
		waits                 time.Duration
	}{
		{words: "get k"},
		{words: "blpop k 0", blocks: true},
		{words: "xread block 0 streams s $", blocks: true},
		{words: "xread BLOCK 0 streams s $", blocks: true},
		{words: "xread streams s 0"},
		{words: "ttl k", timely: true},
		{words: "pexpiretime k", timely: true, clock: true},
		{words: "set k v"},
		{words: "set k v nx px 5", timely: true},
		{words: "set k v pxat 5", timely: true, clock: true},
		{words: "set exat v"},
		{words: "getex k exat 5", timely: true, clock: true},
		{words: "getex k", timely: true},
		{words: "pexpire k 5", timely: true},
		{words: "pexpireat k 5", timely: true, clock: true},
		{words: "time", timely: true, clock: true},
		{words: "xadd s * f v", timely: true, clock: true},
		{words: "xadd s 1-1 f v", timely: true},
		{words: "evalsha " + sha + " 0", timely: true, clock: true},
		{words: "EVALSHA " + strings.ToUpper(sha) + " 0", timely: true, clock: true},
		{words: "evalsha 1123456789abcdef0123456789abcdef01234567 0", timely: true},
		{words: "evalsha", timely: true},
		{words: "eval", timely: true},
		{words: "wait", timely: false},
		{words: "wait 1", acks: 1},
		{words: "wait x 5", waits: 5 * time.Millisecond},
		{words: "wait 1 x", acks: 1},
		{words: "wait 2 70", acks: 2, waits: 70 * time.Millisecond},
		{words: "get 2 70"},
	} {
		x := parsed(t, strings.Fields(c.words)...)
		require.Equal(t, c.blocks, x.blocks(), "%s blocks", c.words)
		if !x.everything {
			require.Equal(t, c.timely, x.timely(), "%s is timely", c.words)
		} else {
			require.True(t, x.timely(), "%s may do anything", c.words)
		}
		require.Equal(t, c.clock, x.readsClock(w), "%s reads the clock", c.words)
		require.Equal(t, c.acks, x.wantedAcks(), "%s asks for replicas", c.words)
		require.Equal(t, c.waits, x.waitTimeout(), "%s waits", c.words)
	}
}

func TestWhichClientCommandsOthersSee(t *testing.T) {
	for words, want := range map[string]bool{
		"client": false, "client id": false, "client GETNAME": false, "client setinfo lib-name x": false,
		"client list": true, "client setname x": true, "client kill id 1": true, "client no-evict on": true,
	} {
		require.Equal(t, want, seenByOthers(parsed(t, strings.Fields(words)...).args), words)
	}
}

// Each reason for which two moves depend on each other is the only one in one case, and missing in another.
func TestWhichMovesAreIndependent(t *testing.T) {
	reads, writes, elsewhere := access{reads: []string{"k"}}, access{writes: []string{"k"}}, access{writes: []string{"j"}}
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
		{"two writes", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = writes }), false},
		{"writes of two keys", with(a, func(m *move) { m.access = writes }), with(b, func(m *move) { m.access = elsewhere }), true},
		{"a crash", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access = writes }), true},
		{"a crash, then anything", move{choice: interleave.Crash(0)}, with(b, func(m *move) { m.access.everything = true }), true},
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
		{"an answer that has come, then anything", with(a, func(m *move) { m.access, m.silent = access{}, true }), with(b, func(m *move) { m.access.everything = true }), true},
		{"anything, then an answer that has come", with(a, func(m *move) { m.access.everything = true }), with(b, func(m *move) { m.access, m.silent = access{}, true }), true},
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
