package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
)

// Model is what a history of somebody else's can be judged as.
type Model string

// The models. Each comes with the gates of a run. Deadlock freedom, what a message filter leaves behind and what is stored for
// a sequence are not judged: these rest on what the harness does at the end of its own runs, when it knows that no client is
// left which could still act.
const (
	LockModel     Model = "lock"     // mutual exclusion, and the order of fencing tokens if there are any
	DedupModel    Model = "dedup"    // one first in each window
	SequenceModel Model = "sequence" // unique numbers that grow
	WritesModel   Model = "writes"   // what was acknowledged is in the last read, by client -1
)

// Models lists all of them.
func Models() []Model { return []Model{LockModel, DedupModel, SequenceModel, WritesModel} }

// ModelNames lists all of them for a sentence, such as "lock, dedup".
func ModelNames() string {
	var all []string
	for _, m := range Models() {
		all = append(all, string(m))
	}
	return strings.Join(all, ", ")
}

// kinds are those of the model's operations: of which it needs some that are ok, which it judges besides, and which a history
// may hold without being judged by them.
func (m Model) kinds() (needed, judged, beside []harness.Kind) {
	switch m {
	case LockModel:
		return []harness.Kind{harness.Acquire}, []harness.Kind{harness.Extend, harness.Release}, nil
	case DedupModel:
		return []harness.Kind{harness.Claim}, []harness.Kind{harness.Confirm}, []harness.Kind{harness.Deliver, harness.Inspect}
	case SequenceModel:
		return []harness.Kind{harness.Next}, nil, []harness.Kind{harness.Inspect}
	default:
		return []harness.Kind{harness.Add, harness.Read}, nil, nil
	}
}

// checkers are those of the model, for what was seen.
func (w *witness) checkers() []harness.Checker {
	needed, judged, _ := w.model.kinds()
	return checkers.ForHistory(checkers.Seen{
		Kinds: slices.Concat(needed, judged), Tokens: w.fenced, Confirms: w.confirmed, HarnessConfirms: w.confirmedByHarness,
	})
}

// witness is what is seen of a history while it is read.
type witness struct {
	model  Model
	known  []harness.Kind       // to the model
	beside map[harness.Kind]int // operations that are not judged
	fenced bool                 // a grant came with a fencing token

	confirmed, confirmedByHarness bool // there are confirms, whatever came of them, and some by the harness
}

func newWitness(m Model) *witness {
	needed, judged, beside := m.kinds()
	w := &witness{model: m, known: slices.Concat(needed, judged, beside), beside: map[harness.Kind]int{}}
	for _, k := range beside {
		w.beside[k] = 0
	}
	return w
}

// op notes x, and refuses it if the model does not know its kind: a verdict that passes over it would say more than was seen.
func (w *witness) op(x harness.Op) error {
	if !slices.Contains(w.known, x.Kind) {
		return fmt.Errorf("%q is not a kind of the model %s, which knows %s: name another model, or leave such lines out",
			x.Kind, w.model, listed(w.known))
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

// meta is m with the kinds of operation that the model asks for. What others were promised is not its matter.
func (w *witness) meta(m harness.Meta) harness.Meta {
	m.Kinds = slices.DeleteFunc(slices.Clone(m.Kinds), func(k harness.Kind) bool { return !slices.Contains(w.known, k) })
	needed, _, _ := w.model.kinds()
	for _, k := range needed {
		if !slices.Contains(m.Kinds, k) {
			m.Kinds = append(m.Kinds, k)
		}
	}
	return m
}

// notes say which operations were not judged.
func (w *witness) notes() (notes []string) {
	for _, k := range w.known {
		if n := w.beside[k]; n > 0 {
			notes = append(notes, fmt.Sprintf("%d operations of the kind %s are there, which the model %s does not judge", n, k, w.model))
		}
	}
	return notes
}

func listed(kinds []harness.Kind) string {
	var out []string
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}
