package harness

import "time"

// Event is something that the system itself did or reported, such as a role change or a Sentinel message. The harness
// records an event when it notices it. The field At is the time when it happened, which may be slightly earlier.
type Event struct {
	At   time.Duration `json:"at"`
	Node string        `json:"node"` // the node that did or reported something
	// Kind is what a Sentinel published, such as "+sdown", or one of the kinds below.
	Kind   string `json:"kind"`
	Detail string `json:"detail,omitempty"` // further text of the event, such as the rest of a Sentinel's message
}

// Kinds of events that a System reports about its nodes, besides the messages of Sentinels.
const (
	// EventAddress: Sentinels know the node by the address in Detail, such as "127.7.2.1 6379".
	EventAddress = "address"
	// EventRole: the node has changed its role. Detail is RolePrimary, RoleReplica, or RoleDown when it does not
	// answer. One change may be reported twice: by the poll of roles and by a refused write.
	EventRole = "role"
	// EventWritable: the node accepted a write after a time in which it accepted none. The field At is the time of its
	// answer.
	EventWritable = "writable"
	// EventUnwritable: the node has stopped accepting writes. The field At is the time of its last answer to a write.
	// Detail says why.
	EventUnwritable = "unwritable"
	// EventFollows: the node, a replica, follows the node at the address in Detail, such as "127.7.2.1 6379".
	EventFollows = "follows"
	// EventOffset: Detail is the node's offset in the replication stream, in bytes. It is exact for a replica that was
	// just promoted. For a former primary it is the last offset that it reported, at most 20 ms before it was demoted
	// or stopped answering.
	EventOffset = "offset"
	// EventDownAfter: a Sentinel considers a node down after it has not answered for the time in Detail, such as "1s".
	EventDownAfter = "down-after"
	// EventLoad: the Sentinel in the field Node has reported that a primary is down. Detail has the machine's load in
	// the minute before: the number of processes that ran or waited for a core, and the number of cores: "12.3 on 2
	// cores".
	EventLoad = "load"
	// EventSubscriptionLost: since the time in the field At the harness has received no messages of the Sentinel in the
	// field Node. Detail says why. EventSubscriptionBack: the subscription is back.
	EventSubscriptionLost = "unheard"
	EventSubscriptionBack = "heard"
	// EventRolesEvery: the harness asks the node for its role at the interval in Detail, such as "250ms". Without this
	// event the interval is 20 ms.
	EventRolesEvery = "roles-every"
	// EventMessagesMissed: the record lacks messages of the Sentinel in the field Node. The harness has heard nothing
	// from it since the time in the field At. The Sentinel's log may lack messages from before that time, because the
	// log was truncated or the Sentinel's clock was changed.
	EventMessagesMissed = "unread"
	// EventServesWrites: the node acknowledged a write of the client group in Detail. Before, another node acknowledged
	// the group's writes, or none did. The field At is the time when the answer reached the client.
	EventServesWrites = "serves"
	// EventAnswers: the node answered a command of the client group in Detail, perhaps with an error. Before, another
	// node answered the group, or none did. Where nodes alternate within 5 ms, such events may be left out.
	EventAnswers = "answers"

	// EventClockBound: how uncertain the times from the generator in the field Node have been since its last event of
	// this kind. Each call and return of its clients is known to lie between an earliest and a latest time. Detail is
	// the longest distance between the two, such as "1.2ms".
	EventClockBound = "clock-bound"
	// EventClockUntrusted: the clock of the generator in the field Node drifted more than allowed. Detail says how. All
	// times of the run are in doubt.
	EventClockUntrusted = "clock-untrusted"
)

// Roles of a Redis node. The first two are Redis's own words.
const (
	RolePrimary = "master"
	RoleReplica = "slave"
	RoleDown    = "down" // the node does not answer
)
