package reports

import (
	"encoding/json"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// If porcupine was not asked about any key, no format says that it found anything valid.
func TestNobodyReadsValidWhereNothingWasAsked(t *testing.T) {
	const why = "porcupine judged none of 20 whole keys; 20 were too large to ask"
	r := demos(t)["rich"]
	r.Judged = harness.Judged{Verdict: harness.Valid, Judgements: []harness.Judgement{
		{Checker: "mutex", Verdict: harness.Valid, Reason: "none overlap"},
		{Checker: "porcupine", NotNeeded: true, Reason: why},
	}}
	page := pageOf(t, HTML, r)
	require.Contains(t, page, `data-label="checker">porcupine</td><td data-label="verdict">`+
		`<span class="pill unasked">abstained</span></td><td data-label="reason">`+why)

	summary := textOf(t, Summary, r)
	require.Contains(t, summary, "| `porcupine` | abstained | "+why)

	require.Contains(t, junitRead(t, RowOf(r, "")).Cases[0].Out, "porcupine: abstained: "+why)

	var said struct {
		Verdict, Summary string
		Judgements       []struct {
			Checker, Verdict, Reason string
			Unasked                  bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(textOf(t, JSON, r)), &said))
	require.Equal(t, "valid", said.Verdict, "the checkers judged the whole history")
	require.Equal(t, "unknown", said.Judgements[1].Verdict)
	require.True(t, said.Judgements[1].Unasked)
	require.Equal(t, why, said.Judgements[1].Reason)

	r.Judged = harness.Judged{Judgements: []harness.Judgement{{Checker: "gates", Reason: "no load"},
		{Checker: "porcupine", NotNeeded: true, Reason: why}}}
	require.Equal(t, "Nothing can be said: gates: no load.", r.Sentence(), "that is no reason to know nothing")
}

// Watchers record some events later than others of the same time.
func TestEventsAreListedByTime(t *testing.T) {
	var kinds []string
	for _, e := range listedEvents([]harness.Event{{At: 3, Kind: "+odown"}, {At: 1, Kind: "+sdown"},
		{At: 2, Kind: harness.EventClockBound}, {At: 3, Kind: "+try-failover"}}) {
		kinds = append(kinds, string(e.Kind))
	}
	require.Equal(t, []string{"+sdown", "+odown", "+try-failover"}, kinds)
}
