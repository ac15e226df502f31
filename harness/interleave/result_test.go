package interleave

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func race() Counterexample {
	return Counterexample{
		Budget:   Budget{Clients: 2, Crashes: 1},
		Schedule: []Choice{Run(0), Crash(0), Pass(1)},
		Steps: []Step{
			{Number: 1, At: time.Microsecond, Client: 1, Choice: Run(0), Command: "SETNX k a",
				Reply: "1", Belief: "holds k"},
			{Number: 2, At: 2 * time.Microsecond, Client: 1, Choice: Crash(0), Command: "crashes"},
			{Number: 3, At: time.Second, Choice: Pass(1), Command: "10s pass"},
		},
		Anomaly: harness.Anomaly{Class: harness.StuckLock},
	}
}

func TestWhatASearchCameTo(t *testing.T) {
	all := []Part{{Budget: Budget{Clients: 3, Crashes: 1}, Schedules: 50}, {Budget: Budget{Clients: 2}, Schedules: 4}}
	random := []Part{{Budget: Budget{Clients: 2}, Schedules: 4, Exhausted: true},
		{Budget: Budget{Clients: 3}, Schedules: 9},
		{Budget: Budget{Clients: 5}, Schedules: 500, AtRandom: true}}
	for _, c := range []struct {
		name    string
		result  Result
		verdict harness.Verdict
		summary string
	}{
		{"nothing", Result{}, harness.Unknown, "no verdict after 0 schedules: "},
		{"no schedule", Result{Exhausted: true}, harness.Unknown, "no order of commands breaks it: "},
		{"all", Result{Exhausted: true, Schedules: 54, Parts: all}, harness.Valid,
			"no order of commands breaks it: all 50 schedules of 3 clients, at most 1 crash; and all 4 schedules of " +
				"2 clients"},
		{"some", Result{Schedules: 9, Stopped: "interrupted"}, harness.Unknown,
			"no verdict after 9 schedules: interrupted"},
		{"at random", Result{Schedules: 504, Stopped: DrawnAtRandom, Random: &Random{Schedules: 500, Strategy: "walks"},
			Parts: random}, harness.Unknown,
			"nothing was found: all 4 schedules of 2 clients; and 9 schedules of 3 clients; and 500 schedules at " +
				"random of 5 clients. They were drawn by walks, which guarantees nothing about a depth."},
		{"at random, not to the end", Result{Schedules: 500, Stopped: "interrupted.",
			Random: &Random{Schedules: 500, Strategy: "walks"}, Parts: random[2:]}, harness.Unknown,
			"nothing was found: 500 schedules at random of 5 clients. They were drawn by walks, which guarantees " +
				"nothing about a depth. The search ended: interrupted."},
		{"at random, all run", Result{Schedules: 500, Random: &Random{Schedules: 500, Strategy: "walks"},
			Parts: random[2:]}, harness.Unknown,
			"nothing was found: 500 schedules at random of 5 clients. They were drawn by walks, which guarantees " +
				"nothing about a depth."},
		{"none at random", Result{Stopped: "interrupted", Random: &Random{Strategy: "walks"}}, harness.Unknown,
			"no verdict after 0 schedules: interrupted"},
		{"found", Result{Exhausted: true, Schedules: 9, Counterexamples: []Counterexample{race()}}, harness.Invalid,
			"a counterexample of 3 steps: stuck-lock"},
		{"found early", Result{Stopped: "interrupted", Counterexamples: []Counterexample{race()}}, harness.Invalid,
			"a counterexample of 3 steps: stuck-lock"},
	} {
		require.Equal(t, c.verdict, c.result.Verdict(), c.name)
		require.Equal(t, c.summary, c.result.Summary(), c.name)
	}
}

func TestTheRateCountsWhatWasPruned(t *testing.T) {
	require.Zero(t, Result{Schedules: 5}.Rate())
	require.InDelta(t, 4, Result{Schedules: 5, Pruned: 3, Elapsed: 2 * time.Second}.Rate(), 1e-9)
}

func TestStepsOnAWhiteboard(t *testing.T) {
	want := "  1  client 1  SETNX k a  1  -> holds k\n  2  client 1  crashes       \n  3  -         10s pass      \n"
	require.Equal(t, want, race().Text())
	require.Equal(t, want, Situation{Steps: race().Steps}.Text())
	require.Empty(t, Counterexample{}.Text())
}

// Files of older programs can still be read.
func TestTheFileFormatStays(t *testing.T) {
	c := race()
	c.Steps = c.Steps[:1]
	c.Anomaly = harness.Anomaly{}
	b, err := json.Marshal(c)
	require.NoError(t, err)
	anomaly, err := json.Marshal(c.Anomaly)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"budget": {"clients": 2, "crashes": 1, "expiries": 0, "failovers": 0, "flushes": 0},
		"schedule": ["client 1", "crash of client 1", "time 2"],
		"steps": [{"number": 1, "at": 1000, "client": 1, "choice": "client 1", "command": "SETNX k a", "reply": "1",
			"belief": "holds k"}],
		"anomaly": `+string(anomaly)+`, "ops": null}`, string(b))
	var again Counterexample
	require.NoError(t, json.Unmarshal(b, &again))
	require.Equal(t, c, again)
}

func TestTheFormatOfAResultStays(t *testing.T) {
	b, err := json.Marshal(Result{
		Schedules: 1, Pruned: 2, Steps: 3, Stopped: "interrupted", First: 4, Elapsed: 5, Budget: Budget{
			Clients: 2, Crashes: 1, Expiries: 2, Approaches: 3, Failovers: 1, Flushes: 4, LostAnswers: 5,
			LostCommands: 6, Place: 2, Late: 7},
		Parts: []Part{{Schedules: 1, Pruned: 2}}, Limits: []string{"clocks"},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"schedules": 1, "pruned": 2, "steps": 3, "exhausted": false, "stopped": "interrupted", "first": 4, "elapsed": 5,
		"budget": {"clients": 2, "crashes": 1, "expiries": 2, "approaches": 3, "failovers": 1, "flushes": 4,
			"lostAnswers": 5, "lostCommands": 6, "place": 2, "late": 7},
		"parts": [{"budget": {"clients": 0, "crashes": 0, "expiries": 0, "failovers": 0, "flushes": 0},
			"schedules": 1, "pruned": 2, "exhausted": false}],
		"limits": ["clocks"], "found": null}`, string(b))
}

// Two parts with equal budgets are described differently if one client of a part does something else.
func TestPartsOfOneSizeAreToldApart(t *testing.T) {
	b := Budget{Clients: 2, Crashes: 1}
	require.Equal(t, "2 clients, at most 1 crash", Part{Budget: b}.String())
	require.Equal(t, "2 clients, one of which uses two locks, at most 1 crash",
		Part{Budget: b, Role: "uses two locks"}.String())
	require.Equal(t, "2 clients, one of which uses two locks",
		Part{Budget: Budget{Clients: 2}, Role: "uses two locks"}.String())
}
