package harness

import "time"

// Event is something the system itself did or said, such as a role change or a Sentinel message. Events are recorded as they
// are noticed; At may be a little before that.
type Event struct {
	At     time.Duration `json:"at"`
	Node   string        `json:"node"`             // the node that said or did it
	Kind   string        `json:"kind"`             // what a Sentinel published, such as "+sdown", or one of the kinds below
	Detail string        `json:"detail,omitempty"` // the rest of the message
}

// Kinds of events that a System reports of its nodes, beside the messages of Sentinels.
const (
	// EventAddress says that Sentinels know the node by the address in Detail, such as "127.7.2.1 6379".
	EventAddress = "address"
	// EventRole says that the node has another role: Detail is RolePrimary, RoleReplica, or RoleDown when it does not answer. It may be
	// said twice, by who asks for roles and by a write that is refused.
	EventRole = "role"
	// EventWritable says that the node took a write after a time without. At is the time of its answer.
	EventWritable = "writable"
	// EventUnwritable says that the node takes no writes any more. At is the time of its last answer to one; Detail says why.
	EventUnwritable = "unwritable"
	// EventFollows says that the node, a replica, follows the node at the address in Detail, such as "127.7.2.1 6379".
	EventFollows = "follows"
	// EventOffset says how far the node was in the replication stream, in bytes: one that was a replica and was just promoted, exactly; one
	// that was a primary, when it told so last, up to 20 ms before it ceased to be one or to answer.
	EventOffset = "offset"
	// EventDownAfter says that a Sentinel takes a node for down that has given no answer for as long as Detail says, such as "1s".
	EventDownAfter = "down-after"
	// EventUnheard says that what the Sentinel Node publishes is not heard from At on; Detail says why. EventHeard says that it is
	// heard again.
	EventUnheard = "unheard"
	EventHeard   = "heard"
	// EventRolesEvery says that the node's role is asked for only once in the time of Detail, such as "250ms"; without it every 20 ms.
	EventRolesEvery = "roles-every"
	// EventUnread says that the Sentinel Node, which is not heard from At on, may have said more before: its log does not have it. The
	// log was cut off, or the Sentinel's clock has stepped.
	EventUnread = "unread"
	// EventServes says that the node acknowledged a write of the client group in Detail. Until then another node had acknowledged
	// the group's writes, or none had. At is when the answer had reached the client.
	EventServes = "serves"
	// EventAnswers says that the node answered what the client group in Detail had asked, be it with a refusal, and that another node had
	// answered before, or none. It may be left out where nodes take turns within 5 ms.
	EventAnswers = "answers"

	// EventClockBound says how well the clock of the generator Node was known since the last such event: Detail is the widest time, as
	// "1.2ms", between the earliest and the latest at which a call or return of its clients can have been.
	EventClockBound = "clock-bound"
	// EventClockUntrusted says that the clock of the generator Node did not run as it was taken to; Detail says how. All of the run's
	// times are in doubt.
	EventClockUntrusted = "clock-untrusted"
)

// Roles of a Redis node. The first two are Redis's own words.
const (
	RolePrimary = "master"
	RoleReplica = "slave"
	RoleDown    = "down" // it does not answer
)
