package harness

// SituationName names a situation in which locks, filters or sequences are known to fail.
type SituationName string

// The situations of locks. A lease "ended inside" if its owner called an extend or release only after its end. The last
// instant of a lease is the last twentieth of its time, and lasts until the lease has certainly ended.
const (
	AcquiresAtOnce       SituationName = "two acquires pending at once"
	LeaseEndedInside     SituationName = "lease ended inside"                       // followed by an extend or release
	AskedInLastInstant   SituationName = "lock asked for in a lease's last instant" // another client asked for it
	TakenAfterLease      SituationName = "lock taken after another's lease"         // there was no release in between
	TakenAtLeaseEnd      SituationName = "lock taken in the millisecond in which another's lease ends"
	ReleaseInLastInstant SituationName = "release in the last instant"
	ReleaseAfterLease    SituationName = "release after the lease"
	LateReleaseMeets     SituationName = "release after the lease, another holds it"
	ExtendInLease        SituationName = "extend inside the lease" // before the lease's last instant
	ExtendInLastInstant  SituationName = "extend in the last instant"
	ExtendAfterLease     SituationName = "extend after the lease"
	LateExtendMeets      SituationName = "extend after the lease, another holds it"
	NameBeginsAnother    SituationName = "owners of which one's name begins the other's"
)

// The situations of message filters. Ages count from the claim or confirm that marked the message.
const (
	ClaimsAtOnce     SituationName = "two claims of a message pending at once"
	AskedAgainEarly  SituationName = "message asked again early in its window"          // in the window's first third
	AskedAgainLater  SituationName = "message asked again later in its window"          // before the window's last 20th
	AskedAgainAtEnd  SituationName = "message asked again just before its window's end" // in the window's last 20th
	AskedAgainAfter  SituationName = "message asked again after its window's end"
	ConfirmAfterTime SituationName = "confirm after the claim's lease"
)

// The situation of sequences, and the one that locks, filters and sequences share.
const (
	DrawsAtOnce       SituationName = "two draws pending at once"
	RetryAfterUnknown SituationName = "retry after unknown" // the same worker asks again for what may have happened
)

// The situations that only the explorer sees, since it causes them.
const (
	ScriptMissing   SituationName = "script missing" // Redis did not know a script
	ClientCrashed   SituationName = "client crashed"
	AnswerLost      SituationName = "command executed, its answer lost"
	CommandLost     SituationName = "command lost"
	CommandLate     SituationName = "command executed after its client gave up"
	SentAgain       SituationName = "command sent again without an answer" // by a library, in the same operation
	RefusedByItself SituationName = "refused by its own command, whose answer was lost"
	ReplicaPromoted SituationName = "replica promoted that had not heard all"
	ScriptSlow      SituationName = "millisecond passed inside a script" // between its readings of the server's clock
)

// AllSituations lists the situations of locks, filters and sequences, and those that only the explorer sees.
func AllSituations() []SituationName {
	return []SituationName{
		AcquiresAtOnce, LeaseEndedInside, AskedInLastInstant, TakenAfterLease, TakenAtLeaseEnd,
		ReleaseInLastInstant, ReleaseAfterLease, LateReleaseMeets,
		ExtendInLease, ExtendInLastInstant, ExtendAfterLease, LateExtendMeets, NameBeginsAnother,
		ClaimsAtOnce, AskedAgainEarly, AskedAgainLater, AskedAgainAtEnd, AskedAgainAfter, ConfirmAfterTime,
		DrawsAtOnce, RetryAfterUnknown,
		ScriptMissing, ClientCrashed, AnswerLost, CommandLost, CommandLate, SentAgain, RefusedByItself, ReplicaPromoted,
		ScriptSlow,
	}
}

// Situation says how often a run or a search has met a situation.
type Situation struct {
	Name    SituationName `json:"name"`
	Count   int           `json:"count"`             // 0: never met
	Example []Op          `json:"example,omitempty"` // the operations of the first occurrence, in order of Call
}
