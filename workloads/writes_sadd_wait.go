package workloads

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// writes/sadd-wait is writes/sadd with an acknowledgement by one replica, or by as many as the options ask for.
//
//	write    SADD writes n, each n once; WAIT n 20, in one pipeline; with fewer acknowledgements the write is unknown
//	finally  read the whole set from the primary
//
// Source: Kingsbury, "Redis redux", 2013, on WAIT. A write with too few acknowledgements ends in info, since it may
// survive: in a split brain of five seconds, 9 to 63 such writes survived. A write that has reached only one replica is
// lost if another replica is promoted.
func saddWait(acks int) Variant {
	return Variant{
		ID: "writes/sadd-wait", Family: Writes,
		Doc: fmt.Sprintf("SADD of unique integers, WAIT %d; a final read shows which acknowledged ones are gone",
			acks),
		Source:  "Jepsen 2013",
		Claim:   OneNode,
		Acks:    acks,
		waiting: saddWait,
		Flaws:   []Flaw{{harness.LostWrite, Failover}},
		build:   func(c Connector, o Options) harness.Workload { return saddInto(c, "writes-wait", o) },
	}
}
