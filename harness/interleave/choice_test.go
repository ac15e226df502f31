package interleave

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func everyChoice() []Choice {
	all := []Choice{StopReplication, Promote, FlushScripts, Probe}
	for i := range MaxPerKind {
		all = append(all, Pass(i), Arrive(i), PassFine(i))
	}
	for i := range MaxClients {
		all = append(all, Run(i), Crash(i), LoseAnswer(i), LoseCommand(i), Delay(i), Slow(i))
		for thread := 1; thread < MaxThreads; thread++ {
			all = append(all, Run(i).Of(thread), LoseAnswer(i).Of(thread), LoseCommand(i).Of(thread),
				Delay(i).Of(thread), Slow(i).Of(thread))
		}
	}
	return all
}

func TestEveryChoiceIsReadAsItWasWritten(t *testing.T) {
	seen := map[string]Choice{}
	for _, c := range everyChoice() {
		text, err := c.MarshalText()
		require.NoError(t, err)
		require.NotEmpty(t, text)
		require.NotContains(t, seen, string(text))
		seen[string(text)] = c
		var again Choice
		require.NoError(t, again.UnmarshalText(text))
		require.Equal(t, c, again, "%s", text)
	}
	b, err := json.Marshal([]Choice{Run(0), Crash(1), Pass(0), LoseAnswer(1), Delay(0), Arrive(31)})
	require.NoError(t, err)
	require.JSONEq(t, `["client 1", "crash of client 2", "time 1", "lost answer to client 2",
		"late command of client 1", "arrival 32"]`, string(b))
}

func TestWhatIsNoChoiceIsRefused(t *testing.T) {
	for _, text := range []string{"", "1", "1, thread 2", "client", "client 0", "client 17", "client 1 ", "crash of",
		"crash of expiry", "crash of client 17", "expiry", "time 0", "time 33", "time 01", "time", "arrival +1",
		"client 1, thread 1", "client 1, thread 33", "client 1, thread", "client 1, thread 02",
		"crash of client 1, thread 2", "time 1, thread 2", "client 17, thread 2"} {
		c := Run(3)
		require.ErrorContains(t, c.UnmarshalText([]byte(text)), "unknown choice", "%q", text)
		require.Equal(t, Run(3), c, "an error leaves it alone")
	}
}

func TestWhomAChoiceIsAbout(t *testing.T) {
	require.Equal(t, []int{2, 0}, []int{Run(3).Of(2).Thread(), Run(3).Thread()})
	require.Equal(t, Run(3), Run(3).Of(2).Of(0))
	for kind, of := range map[Kind]func(int) Choice{
		Runs: Run, Crashes: Crash, LosesAnswers: LoseAnswer, LosesCommands: LoseCommand, Delays: Delay, Passes: Pass,
		Arrives: Arrive, PassesFine: PassFine, Slows: Slow,
	} {
		for i := range MaxClients {
			c := of(i)
			who, ok := c.Client()
			require.Equal(t, kind < Passes, ok, c)
			require.True(t, !ok || who == i, c)
			require.Equal(t, []any{kind, i}, []any{c.Kind(), c.Number()})
			lost := kind == LosesAnswers || kind == LosesCommands || kind == Delays
			require.Equal(t, []bool{kind == Crashes, kind == Passes || kind == PassesFine, lost},
				[]bool{c.IsCrash(), c.IsTime(), c.Unanswered()}, c)
		}
	}
	for _, c := range []Choice{StopReplication, Promote, FlushScripts, Probe} {
		_, ok := c.Client()
		require.Equal(t, World, c.Kind())
		require.False(t, ok)
	}
}
