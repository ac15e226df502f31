package analysistest

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// DoubleGrant is the evidence of two clients that hold one lock across the partition.
func DoubleGrant(key string, start time.Duration) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.DoubleGrant, Key: key, Certified: true, From: start, To: start + 1480*ms,
		Faults: []string{"partition-primary"},
		Note:   fmt.Sprintf("%s was granted to client 7 and, 1.21 s later and inside its lease, to client 12", key),
		Ops: []harness.Op{
			Acquire(7, key, start, 600*time.Microsecond),
			{Client: 15, Kind: harness.Acquire, Key: key, Arg: "c15-9", TTL: 2 * sec, Call: start + 300*ms, Return: start + 301*ms, Outcome: harness.Fail, Err: harness.Held},
			{Client: 9, Kind: harness.Acquire, Key: key, Arg: "c9-3", TTL: 2 * sec, Call: start + 600*ms, Return: start + 900*ms, Err: "timeout"},
			Acquire(12, key, start+1210*ms, 800*time.Microsecond),
			{Client: 7, Kind: harness.Release, Key: key, Arg: "c7-1", Call: start + 1480*ms, Return: start + 1481*ms, Outcome: harness.OK},
		},
		Spans: []harness.Span{
			{Client: 7, Owner: 0, From: start + 600*time.Microsecond, To: start + 1480*ms, Until: harness.OwnRelease},
			{Client: 12, Owner: 1, From: start + 1210*ms + 800*time.Microsecond, To: start + 3190*ms, Until: harness.LeaseEnds},
		},
	}
}

// Acquire is an acquire of two seconds that was granted.
func Acquire(client int, key string, t, took time.Duration) harness.Op {
	return harness.Op{
		Client: client, Kind: harness.Acquire, Key: key, Arg: fmt.Sprintf("c%d-1", client), TTL: 2 * sec,
		Call: t, Return: t + took, Outcome: harness.OK,
	}
}

// DuplicateNumber is the evidence of one number that was issued twice.
func DuplicateNumber() harness.Anomaly {
	next := func(client int, t time.Duration, result string) harness.Op {
		return harness.Op{Client: client, Kind: harness.Next, Key: "orders", Arg: "23", Result: result, Call: t, Return: t + 310*time.Microsecond, Outcome: harness.OK}
	}
	return harness.Anomaly{
		Class: harness.DuplicateNumber, Key: "orders", From: 7 * sec, To: 7*sec + ms, Note: "23 was returned to client 1 and, 79 calls later, to client 2",
		Ops: []harness.Op{next(1, 7*sec, "23"), next(2, 7*sec+700*time.Microsecond, "23")},
	}
}

// Stolen is the evidence of a double grant that a late release opened.
func Stolen() harness.Anomaly {
	const key = "lock:17"
	a := harness.Anomaly{Class: harness.StolenRelease, Key: key, From: 11 * sec, To: 13*sec + 400*ms, Note: "client 3 released lock:17 after its lease had ended, when client 4 had it; client 5 was granted it inside client 4's lease"}
	a.Ops = []harness.Op{
		Acquire(3, key, 11*sec, ms), Acquire(4, key, 13*sec+5*ms, ms),
		{Client: 3, Kind: harness.Release, Key: key, Arg: "c3-1", Call: 13*sec + 200*ms, Return: 13*sec + 201*ms, Outcome: harness.OK},
		Acquire(5, key, 13*sec+210*ms, ms),
	}
	return a
}

// LateTheft is a lock of 300 ms whose story is told by its last 6 ms.
func LateTheft() harness.Anomaly {
	a, b := Acquire(1, "k", 0, ms), Acquire(2, "k", 294*ms, ms/2)
	theft := harness.Op{Client: 1, Kind: harness.Release, Key: "k", Call: 295 * ms, Return: 295*ms + ms/10, Outcome: harness.OK}
	c := Acquire(3, "k", 295*ms+ms/2, ms/2)
	end := harness.Op{Client: 2, Kind: harness.Release, Key: "k", Call: 299 * ms, Return: 300 * ms, Outcome: harness.OK}
	return harness.Anomaly{
		Class: harness.StolenRelease, Key: "k", Note: "stolen", Ops: []harness.Op{a, b, theft, c, end},
		Spans: []harness.Span{
			{Client: 1, Owner: 0, From: ms, To: 293 * ms, Until: harness.LeaseEnds}, {Client: 2, Owner: 1, From: 294*ms + ms/2, To: 299 * ms, Until: harness.OwnRelease},
			{Client: 3, Owner: 2, From: 296 * ms, To: 595 * ms, Until: harness.LeaseEnds},
		},
	}
}
