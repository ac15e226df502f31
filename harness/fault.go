package harness

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Fault is the record of one injected fault. It is written when the fault begins, and again when it acts, is proved,
// heals and ends. So a run that is killed leaves what was known at that moment. Start is always set. Active, Heal and
// End are 0 until they happen.
type Fault struct {
	Number  int           `json:"number,omitempty"` // number in order of Start, from 1; 0: recorded by an older program
	Name    string        `json:"name"`
	Effects Effects       `json:"effects,omitempty"` // what it does to its targets; 0: not declared
	Targets []string      `json:"targets,omitempty"` // names of the nodes or links that it strikes
	Start   time.Duration `json:"start"`             // time just before the first action
	Active  time.Duration `json:"bit"`               // when a probe had shown that it acts; 0: the record stops earlier
	Heal    time.Duration `json:"heal"`              // when the heal began; 0: the record stops earlier
	End     time.Duration `json:"end"`               // when the system was whole again; 0: this was never seen
	Proved  bool          `json:"proved"`            // whether its effect was seen
	Proof   string        `json:"proof,omitempty"`   // what was seen, or why nothing was seen
	Groups  []int         `json:"groups,omitempty"`  // client groups on the minority side, for partitions
	Frozen  []int         `json:"frozen,omitempty"`  // client groups that could do nothing from Start to Heal
}

// Forever is later than every time of a run.
const Forever time.Duration = math.MaxInt64

// InForceUntil returns when the heal of the fault began, or Forever if the record stops while it was in force.
func (f Fault) InForceUntil() time.Duration {
	if f.Heal == 0 {
		return Forever
	}
	return f.Heal
}

// Overlaps reports whether the fault was in force, or the system was not yet whole after the fault, at some time in
// [from, to].
func (f Fault) Overlaps(from, to time.Duration) bool {
	return f.Start <= to && (f.End == 0 || from <= f.End)
}

// Down reports whether the fault ended the process of the given node and kept it down until the heal.
func (f Fault) Down(node string) bool {
	return f.Effects.Has(EndsProcess) && !f.Effects.Has(StartsProcess) && slices.Contains(f.Targets, node)
}

// WithFault adds f, a record of a fault, to faults. If faults has a record with the same Number, f takes its place.
func WithFault(faults []Fault, f Fault) []Fault {
	i := slices.IndexFunc(faults, func(have Fault) bool { return f.Number != 0 && have.Number == f.Number })
	if i < 0 {
		return append(faults, f)
	}
	faults[i] = f
	return faults
}

// FaultsByStart returns a copy of the faults ordered by Fault.Start. History.Faults is in the order of recording.
func (h History) FaultsByStart() []Fault {
	faults := slices.Clone(h.Faults)
	slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(a.Start, b.Start) })
	return faults
}
