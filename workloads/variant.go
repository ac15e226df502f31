package workloads

import (
	"cmp"
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
	Nothing         Claim = "nothing"
	OneNode         Claim = "safe on one node"
	MinorityMayFail Claim = "safe while a majority of masters lives and remembers"
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
	FastLoser          Condition = "a client whose clock is ahead by more than the lease loses a race, or crashes"
	Crash              Condition = "a client crashes between two steps"
	NamesBegin         Condition = "an owner's token begins with another's"
	Unanswered         Condition = "a client gets no answer: it gives up what it may not have, or its command comes late"
	AnswerLost         Condition = "an answer is lost, and the command is sent again"
	Failover           Condition = "acknowledged writes are lost in a failover"

	// Other ways to lose what was acknowledged: see Variant.Under.
	NodeRestart  Condition = "a node comes back without its data inside a lease"
	MemoryEvicts Condition = "a node evicts keys to save memory"
	NodeClock    Condition = "a node's clock steps forward by more than a lease"
)

// goRedisRetries is how often go-redis sends a command again unless it is told otherwise.
const goRedisRetries = 3

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
	Flaws  []Flaw // for every condition, use Under

	// OwnNumbers says that a sequence ignores what callers propose, so that one regime is as good as another.
	OwnNumbers bool

	// ComparesNames says that tokens of owners are compared for more than being the same: by their order, or in part. Then
	// it matters which client has which name.
	ComparesNames bool

	// Retries is how often the Redis client of the variant's callers sends a command again that got no answer: 0, as all
	// clients of this project, or go-redis's own default.
	Retries int

	// Explored is with how many clients a search of the whole catalogue goes through the variant, where 3 are too many; 0: 3.
	Explored int

	// OneKey says that all keys are one to the variant: it cannot tell locks or sequences apart.
	OneKey bool

	Acks    int           // replicas whose acknowledgement it waits for; it is of no use on fewer
	Masters int           // independent masters that it needs at least, such as lock/redlock's 3; 0: it knows of one
	Lease   time.Duration // what the explorer asks for; default: the family's

	// inspect looks at what is stored for the sequence of an Inspect, where it is known how the variant stores it.
	inspect func(context.Context, redis.UniversalClient, *harness.Op)

	texts map[string]string // scripts from elsewhere, by name

	// The algorithm: one of these, by Family, unless build makes a workload of another kind.
	newLocker    func(redis.UniversalClient) Locker
	newQuorum    func([]redis.UniversalClient) Locker // of a lock on several masters, instead
	newDeduper   func(redis.UniversalClient) Deduper
	newSequencer func(redis.UniversalClient) Sequencer
	build        func(Connector, Options) harness.Workload

	waiting func(acks int) Variant // the same, with another number of acknowledgements; nil: it waits for none
}

// Options are the settings that variants share; each family takes those that concern it. Zero values mean the family's
// defaults.
type Options struct {
	Keys     int           // locks or sequences
	TTL      time.Duration // lease of a lock, window of a message
	Regime   Regime        // proposals to a sequence; default: every regime under load, Fixed under the explorer
	Acks     int           // replicas that a variant with a WAIT waits for; default: the variant's own
	Hold     time.Duration // mean time for which a lock is kept, most of the time
	Resource bool          // locks guard a resource, which their owners update
	Rounds   RoundsOptions // of writes/rounds; its Name and Acks are the variant's
}

// Under lists the classes that a condition may bring out in the variant, by its documentation.
//
// A variant that knows of one node declares what a failover does to it, and whatever else makes Redis forget an
// acknowledged write does the same: a node that comes back without its data. A node that evicts keys, or whose clock steps
// forward, forgets only what has a TTL: locks and marks, and the numbers of scripts that let them expire after a month, but
// no counters and no sets. Variants on several masters declare each of these themselves.
func (v Variant) Under(c Condition) (found []harness.Class) {
	for _, f := range v.Flaws {
		if f.When == c || v.Masters == 0 && f.When == Failover && v.forgets(c, f.Class) {
			found = append(found, f.Class)
		}
	}
	return found
}

// forgets reports whether the condition does to the variant what a failover does, as far as the class is concerned.
func (v Variant) forgets(c Condition, class harness.Class) bool {
	switch c {
	case NodeRestart:
		return true
	case MemoryEvicts:
		return class != harness.LostWrite && class != harness.FenceRegression && !v.OwnNumbers
	case NodeClock:
		return class == harness.DoubleGrant || class == harness.DuplicateDelivery
	}
	return false
}

// Waiting is the variant with a WAIT for so many replicas, 1 or more. It is false for one that waits for none.
func (v Variant) Waiting(acks int) (Variant, bool) {
	if v.waiting == nil || acks < 1 {
		return v, false
	}
	return v.waiting(acks), true
}

// Workload makes clients that run the variant on what c connects to. Where that has fewer masters than the variant
// needs, Open returns an error.
func (v Variant) Workload(c Connector, o Options) harness.Workload {
	v, _ = v.Waiting(o.Acks)
	switch v.Family {
	case Lock:
		lock := LockOptions{Name: v.ID, Keys: o.Keys, TTL: o.TTL, Hold: o.Hold, Resource: o.Resource}
		if v.newQuorum != nil {
			return quorumLocks(c, lock, quorum{v.newQuorum, v.Masters})
		}
		return Locks(c, lock, v.newLocker)
	case Dedup:
		return Dedups(c, DedupOptions{Name: v.ID, Window: o.TTL}, v.newDeduper)
	case Sequence:
		return Sequences(c, SequenceOptions{Name: v.ID, Keys: o.Keys, Regime: v.regime(o.Regime), OneKey: v.OneKey}, v.newSequencer)
	default:
		return v.build(c, o)
	}
}

// regime is what callers propose to the variant: any, if it takes no notice of that.
func (v Variant) regime(asked Regime) Regime {
	if v.OwnNumbers {
		return cmp.Or(asked, Fixed)
	}
	return asked
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

// quorumVariant is a lock on several masters. One of two is no majority, so fewer than three gain nothing.
func quorumVariant(id string, newQuorum func([]redis.UniversalClient) Locker, v Variant) Variant {
	v.ID, v.Family, v.newQuorum, v.Masters, v.Claim = id, Lock, newQuorum, 3, MinorityMayFail
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
