package workloads

import (
	"github.com/doublegrant/doublegrant/harness"
)

// writes/rounds, the workload of published experiments: see [Rounds].
//
//	round i of client w of n   SADD rounds w+i*n; with locks also SET lock-i client NX PX ttl;
//	                           with acks also a WAIT after each of these commands
//	finally                    read the whole set from the primary
//
// Source: Jepsen's analysis of Redis, 2013. Like writes/sadd it is a measurement, not an algorithm.
func roundsVariant(acks int) Variant {
	return Variant{
		ID: "writes/rounds", Family: Writes,
		Doc: "unique integers at a steady pace, and in each round one lock that everybody wants: the load of " +
			"published experiments",
		Source:  "Jepsen 2013",
		Claim:   OneNode,
		Acks:    acks,
		waiting: roundsVariant,
		Flaws:   []Flaw{{harness.LostWrite, Failover}, {harness.DoubleGrant, Failover}},
		build:   Rounds,
	}
}
