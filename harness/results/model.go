package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
)

// Model names the contract that an external history is judged by.
type Model string

// Models. For each, it is also judged whether the history could have shown a violation at all (checkers.Gates).
// Deadlock freedom, leftovers of a message filter and the stored value of a sequence are not judged. The harness checks
// them at the end of its own runs, when it knows that no client can still act.
const (
	LockModel     Model = "lock"     // mutual exclusion, and the order of fencing tokens if there are any
	DedupModel    Model = "dedup"    // one delivery in each window
	SequenceModel Model = "sequence" // unique numbers that grow
	WritesModel   Model = "writes"   // the last read, by client -1, has every acknowledged write
)

// Models lists all models.
func Models() []Model { return []Model{LockModel, DedupModel, SequenceModel, WritesModel} }

// ModelNames returns the names of all models in one string, such as "lock, dedup".
func ModelNames() string {
	var all []string
	for _, m := range Models() {
		all = append(all, string(m))
	}
	return strings.Join(all, ", ")
}

// kinds returns three lists of kinds of operation: kinds of which a history must have at least one operation that ended
// in ok, further kinds that are judged, and kinds that are allowed but not judged.
func (m Model) kinds() (needed, judged, beside []harness.Kind) {
	switch m {
	case LockModel:
		return []harness.Kind{harness.Acquire}, []harness.Kind{harness.Extend, harness.Release}, nil
	case DedupModel:
		return []harness.Kind{harness.Claim}, []harness.Kind{harness.Confirm},
			[]harness.Kind{harness.Deliver, harness.Inspect}
	case SequenceModel:
		return []harness.Kind{harness.Next}, nil, []harness.Kind{harness.Inspect}
	default:
		return []harness.Kind{harness.Add, harness.Read}, nil, nil
	}
}

// checkers returns the model's checkers that apply to the history.
func (w *historyKinds) checkers() []harness.Checker {
	needed, judged, _ := w.model.kinds()
	return checkers.ForHistory(checkers.Contents{
		Kinds: slices.Concat(needed, judged), Tokens: w.fenced, Confirms: w.confirmed,
		HarnessConfirms: w.confirmedByHarness,
	})
}

// historyKinds records, while an external history is read, which kinds of operation the history has.
type historyKinds struct {
	model  Model
	known  []harness.Kind       // kinds of operation that the model has
	beside map[harness.Kind]int // number of operations that are not judged, by kind
	fenced bool                 // whether a grant came with a fencing token

	confirmed, confirmedByHarness bool // whether there are confirms of any outcome, and whether some are by client -1
}

func newWitness(m Model) *historyKinds {
	needed, judged, beside := m.kinds()
	w := &historyKinds{model: m, known: slices.Concat(needed, judged, beside), beside: map[harness.Kind]int{}}
	for _, k := range beside {
		w.beside[k] = 0
	}
	return w
}

// op records x. It refuses an operation of a kind that the model does not have: a verdict that ignores the operation
// would claim too much.
func (w *historyKinds) op(x harness.Op) error {
	if !slices.Contains(w.known, x.Kind) {
		return fmt.Errorf("%q is not a kind of the model %s, which has %s: choose another model, or leave these "+
			"lines out",
			x.Kind, w.model, joinKinds(w.known))
	}
	if x.Kind == harness.Acquire && x.Outcome == harness.OK && x.Result != "" {
		w.fenced = true
	}
	if x.Kind == harness.Confirm {
		w.confirmed = true
		w.confirmedByHarness = w.confirmedByHarness || x.Client == harness.HarnessClient
	}
	if len(w.beside) > 0 {
		if n, is := w.beside[x.Kind]; is {
			w.beside[x.Kind] = n + 1
		}
	}
	return nil
}

// checkMeta refuses a history whose meta lists kinds, but none of the model's.
func (w *historyKinds) checkMeta(m harness.Meta) error {
	if len(m.Kinds) == 0 || slices.ContainsFunc(m.Kinds,
		func(k harness.Kind) bool { return slices.Contains(w.known, k) }) {
		return nil
	}
	return fmt.Errorf("meta has the kinds %s, but the model %s has only %s: choose another model, or leave kinds "+
		"out of meta",
		joinKinds(m.Kinds), w.model, joinKinds(w.known))
}

// meta returns m with all kinds that the model needs, and without kinds that are not in the model.
func (w *historyKinds) meta(m harness.Meta) harness.Meta {
	m.Kinds = slices.DeleteFunc(slices.Clone(m.Kinds),
		func(k harness.Kind) bool { return !slices.Contains(w.known, k) })
	needed, _, _ := w.model.kinds()
	for _, k := range needed {
		if !slices.Contains(m.Kinds, k) {
			m.Kinds = append(m.Kinds, k)
		}
	}
	return m
}

// unjudgedNotes lists the kinds of operation that were not judged, with their counts.
func (w *historyKinds) unjudgedNotes() (notes []string) {
	for _, k := range w.known {
		if n := w.beside[k]; n > 0 {
			notes = append(notes, fmt.Sprintf("%d operations of the kind %s were not judged: the model %s has no "+
				"rule for them", n, k, w.model))
		}
	}
	return notes
}

func joinKinds(kinds []harness.Kind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}
