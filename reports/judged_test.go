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

// doubleGrant returns the evidence of two clients that hold one lock across the partition.
func doubleGrant(key string, start time.Duration) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: key, Certified: true, From: start, To: start + 1480*ms,
		Faults: []string{"partition-primary"},
		Note:   fmt.Sprintf("%s was granted to client 7 and, 1.21 s later and inside its lease, to client 12", key),
		Ops: []harness.Op{
			acquire(7, key, start, 600*time.Microsecond),
			{Client: 15, Kind: harness.Acquire, Key: key, Arg: "c15-9", TTL: 2 * sec, Call: start + 300*ms,
				Return: start + 301*ms, Outcome: harness.Fail, Err: harness.Held},
			{Client: 9, Kind: harness.Acquire, Key: key, Arg: "c9-3", TTL: 2 * sec, Call: start + 600*ms,
				Return: start + 900*ms, Err: "timeout"},
			acquire(12, key, start+1210*ms, 800*time.Microsecond),
			{Client: 7, Kind: harness.Release, Key: key, Arg: "c7-1", Call: start + 1480*ms, Return: start + 1481*ms,
				Outcome: harness.OK},
		},
		Spans: []harness.Span{
			{Client: 7, Owner: 0, From: start + 600*time.Microsecond, To: start + 1480*ms, Until: harness.OwnRelease},
			{Client: 12, Owner: 1, From: start + 1210*ms + 800*time.Microsecond, To: start + 3190*ms,
				Until: harness.LeaseEnds},
		},
	}
}

func acquire(client int, key string, t, took time.Duration) harness.Op {
	return harness.Op{
		Client: client, Kind: harness.Acquire, Key: key, Arg: fmt.Sprintf("c%d-1", client), TTL: 2 * sec,
		Call: t, Return: t + took, Outcome: harness.OK,
	}
}

// duplicateNumber returns the evidence of one number that was issued twice.
func duplicateNumber() harness.Anomaly {
	next := func(client int, t time.Duration, result string) harness.Op {
		return harness.Op{Client: client, Kind: harness.Next, Key: "orders", Arg: "23", Result: result, Call: t,
			Return: t + 310*time.Microsecond, Outcome: harness.OK}
	}
	return harness.Anomaly{
		Class: harness.DuplicateNumber, Key: "orders", From: 7 * sec, To: 7*sec + ms,
		Note: "23 was returned to client 1 and, 79 calls later, to client 2",
		Ops:  []harness.Op{next(1, 7*sec, "23"), next(2, 7*sec+700*time.Microsecond, "23")},
	}
}

func invalid() harness.Judged {
	j := harness.Judged{
		Verdict: harness.Invalid, Certified: 190,
		Totals: map[harness.Class]int{harness.DoubleGrant: 194, harness.StolenRelease: 3, harness.DuplicateNumber: 1},
		Judgements: []harness.Judgement{
			{Checker: "lock", Verdict: harness.Invalid, Reason: "two owners held one lock 194 times",
				Figures: []harness.Figure{
					{Name: "grants", Value: 12873}, {Name: "contended keys", Value: 40},
					{Name: "longest overlap", Value: 1.482, Unit: "s"}}},
			{Checker: "porcupine", Verdict: harness.Valid,
				Reason:  "porcupine agreed on 38 of 38 keys that fit its budget",
				Figures: []harness.Figure{{Name: "keys", Value: 38}}},
			{Checker: "liveness", Verdict: harness.Unknown,
				Reason: "no client crashed while it held a lock, so nothing shows that a lock comes free"},
		},
	}
	j.Anomalies = []harness.Anomaly{doubleGrant("lock:4", 4*sec+700*ms), duplicateNumber(),
		analysistest.BlindDel().Anomaly}
	for i := range 7 {
		j.Anomalies = append(j.Anomalies, doubleGrant(fmt.Sprintf("lock:%d", 20+i), 6*sec+time.Duration(i)*100*ms))
	}
	return j
}

func valid() harness.Judged {
	return harness.Judged{
		Verdict: harness.Valid, Totals: map[harness.Class]int{},
		Judgements: []harness.Judgement{{Checker: "lock", Verdict: harness.Valid,
			Reason: "no two owners in 12,873 grants"}},
	}
}
