package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

type name string

func (n name) String() string { return string(n) }

// parse returns a command with what it touches.
func parse(t *testing.T, args ...string) command.Command {
	t.Helper()
	parsed, size, err := resp.ParseCommand(resp.Request(args...))
	require.NoError(t, err)
	c := command.Command{Raw: resp.Request(args...)[:size], Args: parsed}
	c.Access, _ = command.AccessOf(parsed)
	return c
}

// sends is the reaction of a client that sends a command next.
func sends(t *testing.T, args ...string) Reaction {
	t.Helper()
	return Reaction{Stop: Stop{Kind: InCommand, Pending: &command.Pending{Queue: []command.Command{parse(t, args...)}}}}
}

func TestWhatAClientDoesAgainIsKnown(t *testing.T) {
	m := New()
	scripts := command.NewScripts(nil)
	learn := func(event string, did Reaction) (*Mind, error) {
		return m.Learn(name("client 1"), &m.Root, Event{Kind: Answered, Text: event}, did, scripts)
	}
	set, err := learn("", sends(t, "SET", "k", "1"))
	require.NoError(t, err)
	require.Equal(t, set, m.Root.After(Event{Kind: Answered}))
	require.Nil(t, m.Root.After(Event{Kind: Answered, Promoted: true}))
	again, err := learn("", sends(t, "SET", "k", "1"))
	require.NoError(t, err)
	require.Same(t, set, again)
	other, err := learn("+OK", Reaction{Stop: Stop{Kind: AtEnd}})
	require.NoError(t, err)
	require.NotEqual(t, set.ID, other.ID)
	require.True(t, m.Works())

	for what, did := range map[string]Reaction{
		"client 1 sent SET z 1, and sent SET k 1 when all was the same before": sends(t, "SET", "z", "1"),
		"client 1 sent GET k, and sent SET k 1 when all was the same before":   sends(t, "GET", "k"),
		"client 1 slept, and sent SET k 1 when all was the same before":        {Stop: Stop{Kind: InSleep}},
		"client 1 ended 1 operation and then sent SET k 1, but ended no operation and then sent SET k 1 when all was " +
			"the same before": {
			Acts: []Act{{Op: harness.Op{Kind: harness.Next}}}, Stop: sends(t, "SET", "k", "1").Stop,
		},
		"client 1 has ended where it took a step before": {Stop: Stop{Kind: AtEnd}},
	} {
		_, err := learn("", did)
		require.ErrorIs(t, err, schedule.ErrNotRepeated)
		require.ErrorContains(t, err, what)
	}
	require.True(t, m.Works(), "the search ends by these errors")
}

// A client that does the same each time, but with random tokens, is not run from memory.
func TestRandomTokensEndTheUseOfMemory(t *testing.T) {
	for what, did := range map[string]func(*Reaction){
		"another value":  func(d *Reaction) { *d = sends(t, "SET", "k", "token-2") },
		"another result": func(d *Reaction) { d.Acts = []Act{{Op: harness.Op{Result: "token-2"}}} },
		"a watched key":  func(d *Reaction) { d.Watches = true },
	} {
		m := New()
		first := sends(t, "SET", "k", "token-1")
		first.Acts = []Act{{Op: harness.Op{Result: "token-1"}}}
		second := first
		did(&second)
		if len(second.Acts) == 0 {
			second.Acts = first.Acts
		}
		for _, d := range []Reaction{first, second} {
			_, err := m.Learn(name("client 1"), &m.Root, Event{}, d, command.NewScripts(nil))
			require.NoError(t, err)
		}
		require.False(t, m.Works(), what)
		require.Contains(t, m.Broken, "random tokens")
	}
}

func TestContentsEndAsTheirKeysDo(t *testing.T) {
	m := New()
	ends := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	c := m.Contents([]keyspace.Key{{Name: "a", Dump: "1", End: ends(20)}, {Name: "b", Dump: "2", End: keyspace.NoEnd},
		{Name: "c", Dump: "3", End: ends(10)}}, AllScripts)
	require.Equal(t, []keyspace.End{{Key: "c", At: ends(10)}, {Key: "a", At: ends(20)}}, c.Ends)
	require.Same(t, c, c.At(m, ends(9)))
	remaining := c.At(m, ends(15))
	require.Same(t, remaining, m.Contents(remaining.Keys, AllScripts), "equal contents are one object")
	require.True(t, remaining.Has("a") && remaining.Has("b") && !remaining.Has("c"))
	require.Len(t, c.At(m, ends(30)).Keys, 1)
	require.NotEqual(t, c.ID, remaining.ID)

	flushed := c.WithoutScripts(m)
	require.NotSame(t, c, flushed)
	require.Same(t, flushed.WithScript(m, "y").WithScript(m, "x"), flushed.WithScript(m, "x").WithScript(m, "y"))
	require.Same(t, c, c.WithScript(m, "x"), "it has all of them")
}

// The Question of an EXEC changes when a watched key is written or expires.
func TestAQuestionHasAllThatDecidesItsAnswer(t *testing.T) {
	m := New()
	store := m.Contents([]keyspace.Key{{Name: "k", Dump: "1", End: 10 * time.Millisecond}}, AllScripts)
	get, exec, wait, pttl := parse(t, "GET", "k"), parse(t, "EXEC"), parse(t, "WAIT", "1", "5"), parse(t, "PTTL", "k")
	set := parse(t, "SET", "k", "2")
	open := &command.Pending{Multi: true, Transaction: set.Raw}
	ask := func(c command.Command, on *command.Pending, watched []Watched, now time.Duration, hearing int64) Question {
		q, ok := m.Ask(&c, on, watched, store, now, hearing)
		require.True(t, ok, c.Text(m.Scripts))
		return q
	}
	early, late := 2*time.Millisecond, 20*time.Millisecond
	require.Equal(t, ask(get, nil, nil, early, 0), ask(get, nil, nil, late, 1))
	require.NotEqual(t, ask(pttl, nil, nil, early, 0), ask(pttl, nil, nil, late, 0))
	require.NotEqual(t, ask(wait, nil, nil, early, 0), ask(wait, nil, nil, early, 1))
	k := []Watched{{Name: "k", Existed: true}}
	asked := []Question{ask(exec, open, k, early, 0), ask(exec, open, k, late, 0)}
	Touch(k, []string{"other"})
	require.Equal(t, asked[0], ask(exec, open, k, early, 0))
	Touch(k, []string{"k"})
	asked = append(asked, ask(exec, open, k, early, 0),
		ask(exec, &command.Pending{Multi: true, Transaction: get.Raw}, nil, early, 0))
	for i, x := range asked {
		for _, y := range asked[:i] {
			require.NotEqual(t, x, y)
		}
	}
	random := parse(t, "SRANDMEMBER", "k")
	_, ok := m.Ask(&random, nil, nil, store, early, 0)
	require.False(t, ok)
	require.Contains(t, m.WhyNotRepeatable(&random, nil), "SRANDMEMBER")
	require.Empty(t, m.WhyNotRepeatable(&get, nil))

	q := ask(get, nil, nil, early, 0)
	require.Nil(t, store.After(q))
	m.Keep(store, q, &Transition{Reply: "1"})
	require.Equal(t, "1", store.After(q).Reply)
}
