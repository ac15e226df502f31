package reports

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func invalid() harness.Judged {
	j := harness.Judged{
		Verdict: harness.Invalid, Certified: 190,
		Totals: map[harness.Class]int{harness.DoubleGrant: 194, harness.StolenRelease: 3, harness.DuplicateNumber: 1},
		Judgements: []harness.Judgement{
			{Checker: "lock", Verdict: harness.Invalid, Reason: "two owners held one lock 194 times", Figures: []harness.Figure{
				{Name: "grants", Value: 12873}, {Name: "contended keys", Value: 40}, {Name: "longest overlap", Value: 1.482, Unit: "s"}}},
			{Checker: "porcupine", Verdict: harness.Valid, Reason: "porcupine agreed on 38 of 38 keys that fit its budget", Figures: []harness.Figure{{Name: "keys", Value: 38}}},
			{Checker: "liveness", Verdict: harness.Unknown, Reason: "no client crashed while it held a lock, so nothing shows that a lock comes free"},
		},
	}
	j.Anomalies = []harness.Anomaly{analysistest.DoubleGrant("lock:4", 4*sec+700*ms), analysistest.DuplicateNumber(), analysistest.Stolen()}
	for i := range 7 {
		j.Anomalies = append(j.Anomalies, analysistest.DoubleGrant(fmt.Sprintf("lock:%d", 20+i), 6*sec+time.Duration(i)*100*ms))
	}
	return j
}

func valid() harness.Judged {
	return harness.Judged{
		Verdict: harness.Valid, Totals: map[harness.Class]int{},
		Judgements: []harness.Judgement{{Checker: "lock", Verdict: harness.Valid, Reason: "no two owners in 12,873 grants"}},
	}
}
