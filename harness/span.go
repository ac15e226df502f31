package harness

import "time"

// Span is a stretch of time that a checker judged. Its field Kind says what it means.
type Span struct {
	Client int           `json:"client"`         // client of the grant with which the span begins
	Owner  int           `json:"owner"`          // number of the owner, from 0: spans of one owner have the same number
	Kind   SpanKind      `json:"kind,omitempty"` // what is known; left out in JSON if CertainHold
	From   time.Duration `json:"from"`           // start of the span, on the run's clock
	To     time.Duration `json:"to,omitempty"`   // 0: no recorded event ends the span
	// Until is what ends a CertainHold. It is empty for the other kinds, which can end in one way only.
	Until SpanEnd `json:"until,omitempty"`
}

// SpanKind says what is known about a stretch of time.
type SpanKind string

// The kinds of spans. The zero value is a certain hold.
const (
	// CertainHold: the owner certainly held the lock, or the message was certainly marked, as far as was known when the
	// anomaly was found.
	CertainHold SpanKind = ""
	// PossibleHold: the owner may have held the lock, or the message may have been marked. The span begins with the Call
	// of the grant, and ends when every lease or window asked for has certainly ended.
	PossibleHold SpanKind = "possible"
	// PastLease: every lease or window has certainly ended. The span ends with the Call of the operation that still met
	// the lock or mark.
	PastLease SpanKind = "past"
	// NextOwner: a later owner had been granted the lock, and wrote. The span ends with the Call of the stale write.
	NextOwner SpanKind = "next"
	// LargestToken: the owner's fencing token had been given out. The span ends when another acquire got a token that
	// is not larger: at the acquire's Return, or at the earliest end of its lease if that comes first. In a history
	// with Meta.Widened it ends at the acquire's Call.
	LargestToken SpanKind = "token"
	// StillHeld: the owner certainly had the lock. The span ends with the Return of another owner's acquire, whose Call
	// was before the span. So the other owner must have been granted the lock first.
	StillHeld SpanKind = "still"
)

// SpanEnd says what ends a certain hold.
type SpanEnd string

// What ends a certain hold.
const (
	LeaseEnds   SpanEnd = "lease"   // the lease or window can be over, or the end that the grant promised has come
	OwnRelease  SpanEnd = "release" // the owner began to give the lock up
	NothingEnds SpanEnd = "nothing" // a lease without an end, not given up
)

// Overlap is a stretch of time in which two different owners certainly held the lock, or certainly had the message
// marked. Client and Owner are those of the later span.
type Overlap struct {
	Span
	With int // client of the earlier span
}

// Overlaps returns the stretches in which two different owners certainly held the lock or message, ordered as a.Spans
// is. Spans that only touch do not overlap. To is 0 for an overlap without an end.
func (a Anomaly) Overlaps() (both []Overlap) {
	for i, x := range a.Spans {
		for _, y := range a.Spans[i+1:] {
			if x.Kind != CertainHold || y.Kind != CertainHold || x.Owner == y.Owner {
				continue
			}
			o := Overlap{Span: Span{Client: y.Client, Owner: y.Owner, From: max(x.From, y.From), To: x.To,
				Until: x.Until}, With: x.Client}
			if x.To == 0 || y.To != 0 && y.To < x.To {
				o.To, o.Until = y.To, y.Until
			}
			if o.To == 0 || o.From < o.To {
				both = append(both, o)
			}
		}
	}
	return both
}
