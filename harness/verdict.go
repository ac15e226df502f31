package harness

import (
	"context"
	"fmt"
	"time"
)

// Verdict is a three-valued judgement. The zero value is Unknown, so that a history that was not judged never passes.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // nothing can be said, for a reason that is given
	Valid                  // the whole history was judged, and no violation was found
	Invalid                // a violation was found
)

var verdictNames = [...]string{Unknown: "unknown", Valid: "valid", Invalid: "invalid"}

// String returns "unknown", "valid" or "invalid".
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText writes the verdict's name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdictNames {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("harness: unknown verdict %q", text)
}

// Worst returns the worst of verdicts: Invalid is worse than Unknown, Unknown worse than Valid. Without verdicts it is
// Unknown.
func Worst(verdicts ...Verdict) Verdict {
	worst := Unknown
	for i, v := range verdicts {
		if i == 0 || v == Invalid || (v == Unknown && worst == Valid) {
			worst = v
		}
	}
	return worst
}

// Anomaly is the evidence for one violation.
type Anomaly struct {
	Class     Class         `json:"class"`
	Key       string        `json:"key,omitempty"`
	Count     int           `json:"count,omitempty"` // number of its violations, consecutive and of one kind; 0 means 1
	Ops       []Op          `json:"ops"`             // the operations that suffice to show it, in order of Call
	Note      string        `json:"note"`            // the violation in one sentence
	Certified bool          `json:"certified"`       // whether porcupine, a second checker, confirmed it from Ops
	From      time.Duration `json:"from"`            // when the violation begins on the run's clock
	To        time.Duration `json:"to"`              // when the violation is complete
	// Faults names the faults whose Influence overlaps the time between the fields From and To. Judge sets it.
	Faults []string `json:"faults,omitempty"`
	Spans  []Span   `json:"spans,omitempty"` // the stretches of time that the checker judged; may be empty
}

// Violations returns how many violations the anomaly stands for, at least one.
func (a Anomaly) Violations() int { return max(1, a.Count) }

// Judgement holds what one checker says about one history.
type Judgement struct {
	Checker string  `json:"checker"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"` // one sentence; if the verdict is Unknown, it says what is missing
	// NothingToJudge: the verdict is Unknown only because nothing was recorded that the checker could judge.
	NothingToJudge bool `json:"absent,omitempty"`
	// NotNeeded: the verdict is Unknown because the checker only confirms anomalies of other checkers, and there were
	// none. The judgement does not count.
	NotNeeded bool     `json:"unasked,omitempty"`
	Figures   []Figure `json:"figures,omitempty"`

	// Situations that the history met or could have met, if the checker counts them; see Judged.
	Situations []Situation `json:"-"`
}

// VerdictText returns the verdict in a word, or "abstained" if the judgement is NotNeeded.
func (g Judgement) VerdictText() string {
	if g.NotNeeded {
		return "abstained"
	}
	return g.Verdict.String()
}

// InDoubt reports whether the judgement keeps the history from being Valid: it is Unknown although it was needed.
func (g Judgement) InDoubt() bool { return g.Verdict == Unknown && !g.NotNeeded }

// Checker judges a history.
type Checker interface {
	Name() string
	// Check ranges over h.Ops, in order, and calls the function found for every violation, as soon as it is certain.
	// The first pass is shared with the other checkers. Each further pass reads the history again. While a run goes on
	// there is only one pass, and after it h.Ops is empty.
	//
	// Check is pure: the same history gives the same answer, whether it is read from a store or comes from a run. It
	// skips operations of kinds that it does not know. When ctx ends first, the verdict is Unknown unless a violation
	// was found.
	Check(ctx context.Context, h History, found func(Anomaly)) Judgement
}
