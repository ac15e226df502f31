package results

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports/schemas"
	"github.com/doublegrant/doublegrant/workloads"
)

func TestImpossibleSearchesAreRefused(t *testing.T) {
	for want, s := range map[string]plan.Search{
		"a regime is for sequences":    {Variant: "lock/set-nx-px", Regime: "fixed"},
		"a ttl is for locks":           {Variant: "sequence/incr", TTL: time.Second},
		"a ttl of 100µs: Redis counts": {Variant: "lock/set-nx-px", TTL: 100 * time.Microsecond},
		"a ttl of -1s: Redis counts":   {Variant: "lock/set-nx-px", TTL: -time.Second},
		"it needs 3 masters":           {Variant: "lock/redlock"},
		"ask for 0 or 1":               {Variant: "lock/set-nx-px", Bounds: interleave.Bounds{Failovers: 2}},
		"is not a family of scripts":   {Script: &workloads.Script{Name: "x", Source: "return 1", As: "queue"}},
	} {
		_, err := Explore(t.Context(), s, Options{Results: filepath.Join(t.TempDir(), "results")})
		require.ErrorIs(t, err, plan.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

// race is a search that finds something within milliseconds.
var race = plan.Search{Variant: "dedup/get-set",
	Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1, LostAnswers: -1}}

// scheduleFile makes a search and returns the path of its counterexample.
func scheduleFile(t *testing.T) string {
	t.Helper()
	out := explored(t, race)
	require.Len(t, out.Exploration.Files, 1)
	return filepath.Join(out.Dir, out.Exploration.Files[0])
}

func TestAReplayFileOfAnOlderVersionIsRead(t *testing.T) {
	path := scheduleFile(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	schemas.Hold[counterexampleFile](t, string(kindCounterexample), text)
	older := bytes.Replace(text, []byte(`"schema": 1,`), []byte(`"format": "doublegrant schedule",`), 1)
	older = bytes.Replace(older, []byte(`"kind": "counterexample"`), []byte(`"version": 1`), 1)
	require.NoError(t, os.WriteFile(path, older, 0o644))
	got, err := readCounterexample(path, "")
	require.NoError(t, err)
	var want counterexampleFile
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, got)
}

func TestAReplayFileOfSomethingElseIsRefused(t *testing.T) {
	path := scheduleFile(t)
	original, err := os.ReadFile(path)
	require.NoError(t, err)
	holding := func(text []byte) string {
		other := filepath.Join(t.TempDir(), "changed.json")
		require.NoError(t, os.WriteFile(other, text, 0o644))
		return other
	}
	changed := func(change func(*counterexampleFile)) string {
		var f counterexampleFile
		require.NoError(t, json.Unmarshal(original, &f))
		change(&f)
		b, err := json.Marshal(f)
		require.NoError(t, err)
		return holding(b)
	}
	for want, path := range map[string]string{
		"no such file":            path + "x",
		"is not a counterexample": holding([]byte("no schedule")),
		"has the schema 99":       changed(func(f *counterexampleFile) { f.Schema = 99 }),
		"unknown variant":         changed(func(f *counterexampleFile) { f.Search.Variant = "dedup/none" }),
		"unknown choice":          holding(bytes.ReplaceAll(original, []byte(`"client 2"`), []byte(`"client 17"`))),
	} {
		_, err := Replay(t.Context(), ReplayOptions{From: path, Times: 1}, Options{})
		require.ErrorIs(t, err, plan.ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}
