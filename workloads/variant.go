package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Family is what kind of promise a variant makes.
type Family string

// The families.
const (
	Lock     Family = "lock"
	Dedup    Family = "dedup"
	Sequence Family = "sequence"
	Writes   Family = "writes"
)

// Claim is where a variant's author, or the project, holds it to be safe.
type Claim string

// The claims. None of the variants here claims to survive the loss of acknowledged writes.
const (
	Nothing Claim = "nothing"
	OneNode Claim = "safe on one node"
)

// Condition is what brings a flaw out.
type Condition string

// The conditions.
const (
	Race               Condition = "clients race"
	LateRelease        Condition = "a release comes after the lease"
	LeaseEndsInRelease Condition = "the lease ends between two commands of a release"
	LeaseEndsInClaim   Condition = "the lease ends between two commands of a claim"
	FractionOfSecond   Condition = "the TTL has a fraction of a second"
	LargerProposal     Condition = "a proposal replaces the stored number" // callers of any regime may, in time
	ClockSkew          Condition = "clients' clocks differ by more than the lease"
	Crash              Condition = "a client crashes between two steps"
	Failover           Condition = "acknowledged writes are lost in a failover"
)

// In is the condition that callers propose numbers of a regime.
func In(r Regime) Condition { return Condition("numbers are proposed by regime " + string(r)) }

// Flaw is a known way in which a variant fails.
type Flaw struct {
	Class harness.Class `json:"class"`
	When  Condition     `json:"when"`
}

// Variant is one algorithm under test.
type Variant struct {
	ID     string // family/algorithm, such as "lock/set-nx-px"
	Family Family
	Doc    string // the algorithm in one line
	Source string // article (number in the catalogue's list), documentation or paper
	Claim  Claim
	Flaws  []Flaw

	// OwnNumbers says that a sequence ignores what callers propose, so that one regime is as good as another.
	OwnNumbers bool

	// OneKey says that all keys are one to the variant: it cannot tell locks or sequences apart.
	OneKey bool

	Acks  int           // replicas whose acknowledgement it waits for; it is of no use on fewer
	Lease time.Duration // what the explorer asks for; default: the family's

	// inspect looks at what is stored for the sequence of an Inspect, where it is known how the variant stores it.
	inspect func(context.Context, redis.UniversalClient, *harness.Op)

	texts map[string]string // scripts from elsewhere, by name

	// The algorithm: one of these, by Family, unless build makes a workload of another kind.
	newLocker    func(redis.UniversalClient) Locker
	newDeduper   func(redis.UniversalClient) Deduper
	newSequencer func(redis.UniversalClient) Sequencer
	build        func(Connector, Options) harness.Workload
}

// Options are the settings that variants share; each family takes those that concern it. Zero values mean the family's
// defaults.
type Options struct {
	Keys   int           // locks or sequences
	TTL    time.Duration // lease of a lock, window of a message
	Regime Regime        // proposals to a sequence
}

// Workload makes clients that run the variant on what c connects to.
func (v Variant) Workload(c Connector, o Options) harness.Workload {
	switch v.Family {
	case Lock:
		return Locks(c, LockOptions{Name: v.ID, Keys: o.Keys, TTL: o.TTL}, v.newLocker)
	case Dedup:
		return Dedups(c, DedupOptions{Name: v.ID, Window: o.TTL}, v.newDeduper)
	case Sequence:
		return Sequences(c, SequenceOptions{Name: v.ID, Keys: o.Keys, Regime: o.Regime}, v.newSequencer)
	default:
		return v.build(c, o)
	}
}

// Fenced reports whether the variant is a lock whose grants carry fencing tokens.
func (v Variant) Fenced() bool {
	if v.newLocker == nil {
		return false
	}
	_, ok := v.newLocker(nil).(Fencer)
	return ok
}

func lockVariant(id string, newLocker func(redis.UniversalClient) Locker, v Variant) Variant {
	v.ID, v.Family, v.newLocker = id, Lock, newLocker
	return v
}

func dedupVariant(id string, newDeduper func(redis.UniversalClient) Deduper, v Variant) Variant {
	v.ID, v.Family, v.newDeduper = id, Dedup, newDeduper
	return v
}

func sequenceVariant(id string, newSequencer func(redis.UniversalClient) Sequencer, v Variant) Variant {
	v.ID, v.Family, v.newSequencer = id, Sequence, newSequencer
	return v
}
