package harness

import "strings"

// Reasons in Op.Err that checkers and reports act on. Any other text is only counted and shown.
const (
	// Held is the reason of an acquire that failed because another client has the lock. It is an answer, not an error.
	Held = "held"

	// NotMine is the reason of an extend, a release or a confirm that failed because its lock or message was no longer
	// the caller's. It is an answer, not an error.
	NotMine = "not mine"

	// Crashed is the reason of an operation in Info whose client crashed before it knew the result. No client acts on
	// the result.
	Crashed = "crashed"

	// FewAcks is the reason of a write in Info that the primary executed, but that too few replicas acknowledged in time.
	// The client does not act on the write.
	FewAcks = "too few acknowledgements"
)

// Denied reports whether a lock or filter answered the operation with "no": another client has what it asked for.
func (o Op) Denied() bool { return o.Outcome == Fail && (o.Err == Held || o.Err == NotMine) }

// IsErrorReply reports whether reason is the first word of an error reply of Redis, such as "READONLY".
func IsErrorReply(reason string) bool {
	return reason != "" && strings.Trim(reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
