package checkers

import (
	"hash/fnv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// marksKept bounds the messages whose last mark is kept.
const marksKept = 16384

// sampledMarks holds the last mark of each message. If there are too many messages, it holds the marks of a sample. The
// zero value is empty.
type sampledMarks struct {
	marks map[string]glimpsedMark
	mask  uint32 // a message is in the sample if its hash has none of these bits
}

// glimpsedMark is what is kept of an ok claim that was answered "first", or of an ok confirm.
type glimpsedMark struct {
	confirm             bool
	client              int32
	call, returned, ttl time.Duration
}

// lastMark returns the claim or confirm that last marked the message, if it is kept.
func (s *sampledMarks) lastMark(message string) (harness.Op, bool) {
	m, ok := s.marks[message]
	if !ok {
		return harness.Op{}, false
	}
	op := harness.Op{Client: int(m.client), Kind: harness.Confirm, Key: message, TTL: m.ttl, Call: m.call,
		Return: m.returned, Outcome: harness.OK}
	if !m.confirm {
		op.Kind, op.Result = harness.Claim, harness.ResultFirst
	}
	return op, true
}

// put keeps x as the last mark of its message.
func (s *sampledMarks) put(x harness.Op) {
	if s.mask != 0 && !s.isKept(x.Key) {
		return
	}
	if s.marks == nil {
		s.marks = map[string]glimpsedMark{}
	}
	s.marks[x.Key] = glimpsedMark{x.Kind == harness.Confirm, int32(x.Client), x.Call, x.Return, x.TTL}
	if len(s.marks) > marksKept {
		s.shrink(x.Return)
	}
}

func (s *sampledMarks) isKept(message string) bool {
	h := fnv.New32a()
	h.Write([]byte(message))
	sum := h.Sum32()
	return (sum^sum>>16)&s.mask == 0
}

// shrink drops marks whose window ended long before the time in the parameter now. If too many remain, it halves the
// sample until there is room.
func (s *sampledMarks) shrink(now time.Duration) {
	for message, m := range s.marks {
		if m.ttl > 0 && m.ttl < forever/2 && m.call+m.ttl+m.ttl/2 < now {
			delete(s.marks, message)
		}
	}
	for len(s.marks) > marksKept/2 {
		s.mask = s.mask<<1 | 1
		for message := range s.marks {
			if !s.isKept(message) {
				delete(s.marks, message)
			}
		}
	}
}
