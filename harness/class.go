package harness

import (
	"slices"
	"strings"
)

// Class names a kind of violation.
type Class string

// The failure classes that checkers report and variants declare as known flaws. [Classes] says what each one means.
const (
	DoubleGrant       Class = "double-grant"
	StolenRelease     Class = "stolen-release"
	StuckLock         Class = "stuck-lock"
	SilentReacquire   Class = "silent-reacquire"
	RefusedRelease    Class = "refused-release"
	StaleHolder       Class = "stale-holder"
	DuplicateDelivery Class = "duplicate-delivery"
	ImmortalMark      Class = "immortal-mark"
	LostMessage       Class = "lost-message"
	DuplicateNumber   Class = "duplicate-number"
	Regression        Class = "regression"
	FenceRegression   Class = "fence-regression"
	ReturnedNotStored Class = "returned-not-stored"
	SequenceRestart   Class = "sequence-restart"
	TTLLost           Class = "ttl-lost"
	LostWrite         Class = "lost-write"
	UnexpectedWrite   Class = "phantom-write"
	Deadlock          Class = "deadlock"
	UndeclaredKey     Class = "undeclared-key"
)

// ClassDoc explains a class to a reader who has not met it before. All texts are plain sentences without markup.
type ClassDoc struct {
	Class    Class
	Meaning  string   // what the class is, in one line without a full stop
	Harm     string   // what such a violation means in production
	Remedy   string   // what to do about it
	MendedBy []string // variants of package workloads that follow the remedies; the remedies name them

	// FailoverRemedy is what else to do if a failover may have caused the violation. Empty: nothing else.
	FailoverRemedy string
}

// Remedies returns Remedy and FailoverRemedy as one text, for a violation that a failover may have caused.
func (d ClassDoc) Remedies() string { return strings.TrimSpace(d.Remedy + " " + d.FailoverRemedy) }

// Classes documents every class, in this order: locks, message filters, sequences, writes, waiting clients, scripts.
func Classes() []ClassDoc { return slices.Clone(classDocs) }

// Doc returns the documentation of the class. For a class that this version does not know, only the name is set.
func (c Class) Doc() ClassDoc {
	for _, d := range classDocs {
		if d.Class == c {
			return d
		}
	}
	return ClassDoc{Class: c}
}

var classDocs = []ClassDoc{
	{
		DoubleGrant, "two owners inside their leases",
		"Two clients are in the critical section at one time, and both were told that they are alone. What the lock " +
			"guards is done twice, or each overwrites what the other did.",
		"If the algorithm raced, grant and lease have to be one command and the release has to compare the owner, as " +
			"in lock/set-nx-px.",
		[]string{"lock/set-nx-px", "lock/redlock", "lock/fenced"},
		"If Redis forgot an acknowledged write, as in a failover, no lock on one primary helps: lock/redlock needs a " +
			"majority of independent masters, and lock/fenced lets what the lock guards refuse the older owner.",
	},
	{
		StolenRelease, "two owners, because a client released a lock that was not its own any more",
		"A client whose lease is over gives up the lock of the next owner, and a third client gets it. One slow " +
			"client is enough, and the damage goes on: the second owner then releases the lock of the third.",
		"The release has to compare the owner and delete the key in one step: a script, as in lock/set-nx-px. GET " +
			"and DEL as two commands leave room for the lease to end between them.",
		[]string{"lock/set-nx-px"},
		"",
	},
	{
		StuckLock, "a lock that nobody can acquire any more",
		"Every client waits for ever, until somebody deletes the key by hand. It takes one crash between two " +
			"commands, one lost answer, or a watchdog that outlives its lock.",
		"The key and its TTL have to be set by one command, SET NX PX, as in lock/set-nx-px, or in one script, as in " +
			"lock/lua-owner. A watchdog may renew what is there, and never take it again.",
		[]string{"lock/set-nx-px", "lock/lua-owner"},
		"",
	},
	{
		SilentReacquire, "an extend said yes to an owner that had lost the lock to another one meanwhile",
		"The two were owners one after the other, so this is no double grant, and no release took anything from " +
			"anybody. But the first one was not told: it goes on with what it had read before the other one changed " +
			"it, and overwrites that.",
		"An extend has to compare the owner, and to say no where the key is gone, as in lib/redislock: never take " +
			"the lock anew in it. Whoever is told no begins again. lock/fenced refuses the writes of an owner that " +
			"has not noticed.",
		[]string{"lib/redislock", "lock/fenced"},
		"",
	},
	{
		RefusedRelease, "a release or extend was refused to the rightful owner, inside its lease",
		"The owner believes that it has lost the lock, though nobody else has it, and drops or repeats its work. The " +
			"lock stays taken until its lease ends: everybody waits for nobody. Often somebody who was refused has " +
			"written its own name over the owner's.",
		"A refused acquire may change nothing: SET NX writes and refuses in one command, as in lock/set-nx-px. " +
			"Release and extend compare the token that the acquire stored, byte by byte.",
		[]string{"lock/set-nx-px"},
		"",
	},
	{
		StaleHolder, "wrote after its lease, when another owner had written",
		"A client paused inside the critical section, woke when its lease was over and wrote all the same. What the " +
			"next owner had written is lost. A garbage collection, a suspended machine or a slow disk is pause " +
			"enough, and no lock can prevent it.",
		"What the lock guards has to refuse the older owner: lock/fenced gives each grant a larger number, and the " +
			"resource keeps the largest that it has seen of readers and writers.",
		[]string{"lock/fenced"},
		"",
	},
	{
		FenceRegression, "a later grant got a fencing token that is not larger",
		"A resource that refuses older tokens now refuses the rightful owner, or takes a write of an owner whose " +
			"lease is over.",
		"Draw the token with INCR in the script that takes the lock, and let it never expire, as in lock/fenced.",
		[]string{"lock/fenced", "sequence/incr-wait"},
		"A failover can lose increments as well: keep the counter where acknowledged writes survive one, or wait for " +
			"replicas, as in sequence/incr-wait.",
	},
	{
		DuplicateDelivery, "two workers were told that they are the first",
		"One message is handled twice: a customer is charged twice, or a mail is sent twice.",
		"To look and to mark have to be one command: SET NX EX, as in dedup/set-nx-ex, or one script, as in " +
			"dedup/get-set-lua. Handling a message twice should be harmless.",
		[]string{"dedup/set-nx-ex", "dedup/get-set-lua", "dedup/set-nx-ex-wait"},
		"Where a failover lost the mark, dedup/set-nx-ex-wait makes that rare.",
	},
	{
		ImmortalMark, "a mark that never expires",
		"Marks pile up until Redis is out of memory, and a message that comes again after its window is dropped, for " +
			"ever.",
		"Set the mark and its TTL by one command, as in dedup/set-nx-ex, or in one script, as in dedup/get-set-lua.",
		[]string{"dedup/set-nx-ex", "dedup/get-set-lua"},
		"",
	},
	{
		LostMessage, "marked as seen, never delivered",
		"A worker marked the message and crashed before it delivered it. Whoever gets it again is told that it was " +
			"handled, so nobody does, until the mark expires. Or every worker was told so, though none had marked " +
			"it: it was taken for another message.",
		"Mark for a short lease first, and for the whole window when the message was delivered, as in " +
			"dedup/claim-confirm. Then a crash costs a delay, or a second delivery.",
		[]string{"dedup/claim-confirm"},
		"",
	},
	{
		DuplicateNumber, "one number issued twice",
		"Two orders have one number, or a row overwrites another.",
		"Let Redis count in one command: sequence/incr. Where the number has to follow what callers propose, compare " +
			"in a script and compare digits, as in sequence/digits-compare: strings order 9 after 10, and Lua's " +
			"numbers are exact to 2^53 only.",
		[]string{"sequence/incr", "sequence/digits-compare"},
		"",
	},
	{
		Regression, "a later call got a smaller number",
		"What is sorted by the number is in the wrong order, and a consumer that remembers the last number passes " +
			"over new entries.",
		"Never let a smaller number replace a larger one: sequence/incr, or sequence/digits-compare where callers " +
			"propose numbers.",
		[]string{"sequence/incr", "sequence/digits-compare", "sequence/incr-wait"},
		"If a failover did it, sequence/incr-wait makes that rare.",
	},
	{
		ReturnedNotStored, "a number was issued that the store does not know of",
		"The sequence will issue that number, or a smaller one, again: the next caller may get a duplicate.",
		"Return what was stored, from the script that stored it: sequence/digits-compare. sequence/incr does so by " +
			"itself.",
		[]string{"sequence/digits-compare", "sequence/incr"},
		"",
	},
	{
		SequenceRestart, "the stored number went back",
		"The sequence begins again below numbers that are in use: duplicates follow.",
		"Replace the stored number only by a larger one, compared by its digits, as in sequence/digits-compare, or " +
			"only increment it, as in sequence/incr.",
		[]string{"sequence/digits-compare", "sequence/incr"},
		"",
	},
	{
		TTLLost, "what had an end has none any more",
		"A key that was to go away stays: keys of finished days or tenants pile up until Redis is out of memory.",
		"A plain SET drops the TTL. Set it again in the script that stores the number, as in " +
			"sequence/digits-compare, or change the number with INCR, which keeps it.",
		[]string{"sequence/digits-compare"},
		"",
	},
	{
		LostWrite, "acknowledged, and gone",
		"Redis said OK, and the data is not there. It is the price of asynchronous replication: a new primary knows " +
			"only of what had reached it, and a node without persistence forgets all when it restarts.",
		"Wait for replicas, as in writes/sadd-wait, set min-replicas-to-write, or keep what must not be lost " +
			"elsewhere. Where a lock guards the data, and its owners paused, refuse older owners, as in lock/fenced.",
		[]string{"writes/sadd-wait", "lock/fenced"},
		"",
	},
	{
		UnexpectedWrite, "refused for certain, yet there",
		"A caller that was told no does it again, or tells its user that nothing was done: then it is there twice, " +
			"or unasked.",
		"Call a write refused only if its command cannot have been executed. After a timeout or a lost connection it " +
			"may have been: look, or make it harmless to do twice, as writes/sadd does with unique elements.",
		[]string{"writes/sadd"},
		"",
	},
	{
		Deadlock, "a client that waits for ever, since nobody is left who would wake it",
		"A worker stands still until somebody restarts it: the wake-up was lost in a crash, came before anybody " +
			"waited for it, or went to somebody else. Each crash takes one more, until none is left.",
		"Never rely on a wake-up alone: wait with a time-out of at most the lease, and look again when it is over, " +
			"as in lock/blpop-signal-lease. Look once more between a SUBSCRIBE that was confirmed and the wait, as " +
			"in lock/redisson.",
		[]string{"lock/blpop-signal-lease", "lock/redisson"},
		"",
	},
	{
		UndeclaredKey, "a script that touches keys of several slots, of which one is not among its KEYS",
		"On one server nothing is wrong. A Cluster looks for a script's node by KEYS alone: what it makes up is " +
			"refused as soon as its slot is elsewhere, after the commands before it were executed, or while a slot " +
			"moves.",
		"Give every key that the script touches in KEYS, with one hash tag, such as {order1}:lock and " +
			"{order1}:count, so that they share a slot, as lock/redisson gives its channel. A script that is for one " +
			"server only says so by #!lua flags=no-cluster.",
		[]string{"lock/redisson"},
		"",
	},
}
