package workloads

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Family names the kind of algorithm, by the promise that it makes.
type Family string

// The families.
const (
	Lock     Family = "lock"
	Dedup    Family = "dedup"
	Sequence Family = "sequence"
	Writes   Family = "writes"
)

// Claim says how far a variant is safe, according to its author or to this project.
type Claim string

// The claims. None of the variants here claims to survive the loss of acknowledged writes.
const (
	Nothing         Claim = "nothing"
	OneNode         Claim = "safe on one node"
	MinorityMayFail Claim = "safe while a majority of masters lives and remembers"
)

// Condition is a circumstance under which a flaw shows.
type Condition string

// The conditions.
const (
	Race               Condition = "clients race"
	LateRelease        Condition = "a release comes after the lease"
	LateExtend         Condition = "an extend comes after the lease"
	LeaseEndsInRelease Condition = "the lease ends between two commands of a release"
	LeaseEndsInClaim   Condition = "the lease ends between two commands of a claim"
	FractionOfSecond   Condition = "the TTL has a fraction of a second"
	// sooner or later the callers of every regime propose a larger number than the stored one
	LargerProposal Condition = "a proposal replaces the stored number"
	ClockSkew      Condition = "clients' clocks differ by more than the lease"
	FastLoser      Condition = "a client whose clock is ahead by more than the lease loses a race, or crashes"
	Crash          Condition = "a client crashes between two steps"
	SignalEnds     Condition = "a signal ends before somebody waits for it"
	NamesBegin     Condition = "an owner's token begins with another's"
	Unanswered     Condition = "a client gets no answer: it gives up what it may not have, or its command comes late"
	AnswerLost     Condition = "an answer is lost, and the command is sent again"
	LateCommand    Condition = "a command that was sent again comes late"
	Failover       Condition = "acknowledged writes are lost in a failover"

	// Circumstances in which Redis forgets writes as in a failover: see Variant.Under.
	NodeRestart  Condition = "a node comes back without its data inside a lease"
	MemoryEvicts Condition = "a node evicts keys to save memory"
	NodeClock    Condition = "a node's clock steps forward by more than a lease"
)

// goRedisRetries is go-redis's default for MaxRetries, which is how often it resends a command.
const goRedisRetries = 3

// In returns the condition that callers propose numbers by regime r.
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
	Source string // article (named as in the README), documentation or paper
	Claim  Claim
	Flaws  []Flaw // the declared flaws; Under derives those under all other conditions

	// OwnNumbers says that a sequence ignores what callers propose, so one regime is as good as another.
	OwnNumbers bool

	// ComparesNames says that the algorithm uses owners' tokens for more than equality: it orders tokens, or compares
	// parts of them. In that case it matters which client has which name.
	ComparesNames bool

	// Retries is how many times at most the callers' Redis client resends a command without an answer: 0, as for all
	// clients of this project, or go-redis's default.
	Retries int

	// Explored is the number of clients in a search of the whole catalogue, if 3 are too many; 0 means 3.
	Explored int

	// ExploredBriefly says that a search of the whole catalogue omits expiries, lost answers and late commands for this
	// variant, unless they are asked for. With them a search takes minutes if clients wait or have watchdogs. A search of
	// this variant alone has them.
	ExploredBriefly bool

	// ExploredUncrashed says that a search of the whole catalogue also omits crashes, unless they are asked for.
	ExploredUncrashed bool

	// OneKey says that the variant ignores the key, so it knows only one lock or sequence.
	OneKey bool

	// OwnKeys says that the variant uses keys or channels whose names do not begin with the given key.
	OwnKeys bool

	Acks    int           // number of replicas whose acknowledgement the variant waits for, and so needs
	Masters int           // least number of independent masters, such as 3 for lock/redlock; 0: the variant uses one
	Lease   time.Duration // lease or window that the explorer asks for; 0: the family's default

	// inspect sets the result of an Inspect operation to what is stored for the sequence. It is nil if nobody knows how
	// the variant stores a sequence.
	inspect func(context.Context, redis.UniversalClient, *harness.Op)

	// mechanism explains violations by values in their evidence. If it is nil, Mechanism uses the conditions of Flaws.
	mechanism func([]harness.Anomaly) string

	// habits says that some explored clients use the algorithm more than once, see Options.Habits. It is set for a user's
	// own program or script.
	habits bool

	texts map[string]string // Lua texts that are not in package lua, by file name

	// One of these functions makes the algorithm, according to Family; build makes the load of the family Writes.
	newLocker    func(redis.UniversalClient) Locker
	newQuorum    func([]redis.UniversalClient) Locker // in place of newLocker, for a lock on several masters
	newDeduper   func(redis.UniversalClient) Deduper
	newSequencer func(redis.UniversalClient) Sequencer
	build        func(Connector, Options) harness.Workload

	// newExplored makes the lock of a client under the explorer, where a lock may wait for ever. If it is nil, newLocker
	// makes that lock.
	newExplored func(redis.UniversalClient) Locker

	waiting func(acks int) Variant // makes the variant with another number of acknowledgements; nil: no WAIT

	// runner runs the variant's adapter, and program says what the adapter's clients do under the explorer. Both are nil
	// for every variant that is not an adapter.
	runner  AdapterRunner
	program func(Options) interleave.Program

	library Library  // the library of another language that is the algorithm; zero: none
	can     []string // what the library's adapter can do, by the names of the protocol
}

// LogTo writes the standard error of the adapter's processes to files in the folder dir. It does nothing if the variant
// is not an adapter.
func (v Variant) LogTo(dir string) {
	if v.runner != nil {
		v.runner.LogTo(dir)
	}
}

// IsAdapter reports whether an adapter runs the algorithm.
func (v Variant) IsAdapter() bool { return v.runner != nil || v.library.File != "" }

// ConnectDirectly lets the adapter's processes connect to a node under load, so that their bytes do not pass this
// process. The given function gets the Redis client of a client group and returns the node's address. If it returns "",
// the group's processes connect through this process. No fault of a link acts on a direct connection. Call
// ConnectDirectly before the load begins. It does nothing if the variant is not an adapter.
func (v Variant) ConnectDirectly(address func(redis.UniversalClient) string) {
	if v.runner != nil {
		v.runner.ConnectDirectly(address)
	}
}

// Close ends the adapter's processes. It does nothing if the variant is not an adapter.
func (v Variant) Close() {
	if v.runner != nil {
		v.runner.Close()
	}
}

// Under lists the classes of anomaly that the variant may show under a condition, according to its documentation.
//
// A variant on one node declares what a failover does to it. Under derives from that what happens when Redis forgets
// acknowledged writes for another reason than a failover, as far as it forgets the same things. A node that comes back
// without its data forgets everything. A node that evicts keys forgets only keys with a TTL: locks, marks, and the
// sequences of scripts that set a TTL of a month, but no counters and no sets. A node whose clock steps forward forgets
// locks and marks. Variants on several masters declare each of these conditions themselves.
func (v Variant) Under(c Condition) (classes []harness.Class) {
	for _, f := range v.Flaws {
		if f.When == c || v.Masters == 0 && f.When == Failover && v.forgetsAsFailover(c, f.Class) {
			classes = append(classes, f.Class)
		}
	}
	return classes
}

// forgetsAsFailover reports whether a class that the variant shows in a failover also shows under the condition c.
func (v Variant) forgetsAsFailover(c Condition, class harness.Class) bool {
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

// Waiting returns the variant with a WAIT for acks replicas. It returns v and false if v has no WAIT, or if acks is
// less than 1.
func (v Variant) Waiting(acks int) (Variant, bool) {
	if v.waiting == nil || acks < 1 {
		return v, false
	}
	return v.waiting(acks), true
}

// Workload returns a load whose clients run the variant on the system that c connects to. Its Open returns an error if
// that system has fewer masters than the variant needs.
func (v Variant) Workload(c Connector, o Options) harness.Workload {
	v, _ = v.Waiting(o.Acks)
	o.Name, o.Acks = v.ID, v.Acks
	switch v.Family {
	case Lock:
		if v.newQuorum != nil {
			return quorumLocks(c, o, v.newQuorum, v.Masters)
		}
		return Locks(c, o, v.newLocker)
	case Dedup:
		return Dedups(c, o, v.newDeduper)
	case Sequence:
		if o.OneKey = v.OneKey; v.OwnNumbers { // one regime is as good as another
			o.Regime = cmp.Or(o.Regime, Fixed)
		}
		return Sequences(c, o, v.newSequencer)
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

// quorumVariant returns a lock on at least three masters. Fewer would gain nothing, since a majority of two masters is
// both of them.
func quorumVariant(id string, newQuorum func([]redis.UniversalClient) Locker, v Variant) Variant {
	v.ID, v.Family, v.newQuorum = id, Lock, newQuorum
	v.Masters = 3
	v.Claim = MinorityMayFail
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
