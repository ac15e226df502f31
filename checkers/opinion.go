package checkers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// opinion is the checker that [SecondOpinion] returns, with bounds on what it may cost.
type opinion struct {
	ops    int           // largest number of operations of a key that is judged; refused operations do not count
	maxOps int           // bound on operations kept at one time, and on known keys; 50,000 operations take about 12 MB
	inAll  time.Duration // porcupine's time limit for all keys together
	perKey time.Duration // porcupine's time limit for each key
}

// SecondOpinion returns the checker that asks porcupine about all operations of a key at once: of a lock, a message or
// a sequence. It compares porcupine's answer with the answer of [Mutex], [Fence], [Dedup] or [Sequence] about the same
// operations. SecondOpinion reports no anomaly and never makes a run Invalid. If two opinions differ, that is a defect
// of the harness and makes the verdict Unknown. If porcupine could be asked about no key, the judgement says why and
// sets NotNeeded: the other verdicts do not depend on it.
//
// Porcupine is asked about a key only if all operations of the key are recorded and there are at most 1,000. If a key
// has more, its operations are dropped at once. When 50,000 operations of all keys are kept, the operations of the
// current key are dropped and no further key is kept, so memory is bounded. Porcupine has a second for all keys
// together and a tenth of a second for each key, in which it uses some tens of megabytes at worst. Its time and memory
// grow with the square of a key's operations, and faster where many operations overlap. Unless a time limit is reached,
// the history alone decides which keys porcupine is asked about.
func SecondOpinion() harness.Checker {
	return opinion{ops: 1000, maxOps: 50_000, inAll: time.Second, perKey: 100 * time.Millisecond}
}

func (opinion) Name() string { return "porcupine" }

func (c opinion) Check(ctx context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	p := &opinionPass{opinion: c, meta: h.Meta, keys: map[familyKey]*keyOps{}}
	err := eachOp(ctx, h, p.op)
	if err == nil && isComplete(h) {
		p.ask(ctx, h)
	}
	out := harness.Judgement{Checker: c.Name(), Verdict: harness.Valid, Figures: p.figures()}
	switch {
	case len(p.differences) > 0:
		out.Verdict, out.Reason = harness.Unknown, p.defect()
	case err != nil:
		out.Verdict, out.Reason = harness.Unknown, err.Error()
	case ctx.Err() != nil:
		out.Verdict, out.Reason = harness.Unknown, fmt.Sprintf("stopped after %d keys: %v", p.asked, ctx.Err())
	case !isComplete(h):
		out.Reason = "porcupine judged no whole key: the record is not whole"
	default:
		out.Reason = p.describeAsked()
	}
	if p.asked == 0 && err == nil && ctx.Err() == nil {
		out.Verdict, out.NotNeeded = harness.Unknown, true
	}
	return out
}

// family is a kind of system: locks, filters or sequences. For each family, porcupine has a model that judges all
// operations of a key.
type family uint8

const (
	locks family = iota + 1
	filters
	sequences
)

// familyOf returns the family of systems that have operations of that kind. It returns 0 if porcupine has no model of
// them.
func familyOf(kind harness.Kind) family {
	switch kind {
	case harness.Acquire, harness.Extend, harness.Release:
		return locks
	case harness.Claim, harness.Confirm:
		return filters
	case harness.Next:
		return sequences
	}
	return 0
}

// hasNoEffect reports whether x certainly changed nothing that models and rules follow, so that they can skip x. That
// is so if x was refused, or is a claim that found a mark. It never is for a release.
func hasNoEffect(x harness.Op) bool {
	switch x.Kind {
	case harness.Release:
		return false
	case harness.Claim:
		return x.Outcome == harness.Fail || x.Outcome == harness.OK && x.Result == harness.ResultSeen
	}
	return x.Outcome == harness.Fail
}

// familyKey is a key of one family.
type familyKey struct {
	family family
	key    string
}

// keyOps holds the operations of a key. The field ops is nil once there were too many.
type keyOps struct {
	familyKey
	ops []harness.Op
}

// opinionPass is one pass over a history.
type opinionPass struct {
	opinion
	meta   harness.Meta
	keys   map[familyKey]*keyOps
	order  []*keyOps // the keys, in order of their first operation
	kept   int       // number of operations kept
	full   bool      // no further key is kept
	beyond int       // number of operations whose keys were not kept

	asked, agreed, illegal int      // numbers of keys: asked about, judged alike, found illegal
	large, slow            int      // numbers of keys: too large to ask about, without an answer in time
	differences            []string // descriptions of where porcupine and a checker differ
}

func (p *opinionPass) op(x harness.Op) {
	f := familyOf(x.Kind)
	if f == 0 || hasNoEffect(x) {
		return
	}
	name := familyKey{f, x.Key}
	k := p.keys[name]
	switch {
	case k == nil && p.full:
		p.beyond++
		return
	case k == nil:
		k = &keyOps{familyKey: name, ops: []harness.Op{}}
		p.keys[name] = k
		p.order = append(p.order, k)
	case k.ops == nil:
		return
	}
	if p.kept == p.maxOps || len(p.keys) == p.maxOps {
		p.full = true
	}
	if len(k.ops) == p.ops || p.kept == p.maxOps {
		p.kept -= len(k.ops)
		k.ops = nil
		p.large++
		return
	}
	k.ops = append(k.ops, x)
	p.kept++
}

// ask has porcupine and the checkers judge every kept key, until the time limit is reached.
func (p *opinionPass) ask(ctx context.Context, h harness.History) {
	end := time.Now().Add(p.inAll)
	for _, k := range p.order {
		if k.ops == nil {
			continue
		}
		remaining := min(p.perKey, time.Until(end))
		if ctx.Err() != nil || remaining <= 0 {
			p.slow++
			continue
		}
		p.compare(ctx, k, h, remaining)
	}
}

// compare asks porcupine and the checkers about one key, and compares their answers.
func (p *opinionPass) compare(ctx context.Context, k *keyOps, h harness.History, within time.Duration) {
	h.Ops = harness.OpsOf(k.ops)
	answers := 0
	same := true // all answers agree
	illegal := false
	all := k.questions(p.meta)
	for _, o := range all {
		said := porcupine.CheckOperationsTimeout(o.model, o.operations, within/time.Duration(len(all)))
		if said == porcupine.Unknown {
			continue
		}
		answers++
		g := o.checker.Check(ctx, h, func(harness.Anomaly) {})
		illegal = illegal || said == porcupine.Illegal
		if (g.Verdict == harness.Invalid) != (said == porcupine.Illegal) {
			same = false
			p.differences = append(p.differences, fmt.Sprintf("of %s porcupine says %s, %s says %s (%s)", k, said,
				o.checker.Name(), g.Verdict, g.Reason))
		}
	}
	if answers < len(all) && same {
		p.slow++
		return
	}
	p.asked++
	if same {
		p.agreed++
	}
	if illegal {
		p.illegal++
	}
}

// keyQuestion is one question about a key, put to porcupine and to a checker.
type keyQuestion struct {
	window
	checker harness.Checker
}

// questions lists the questions about k, whose operations are in order of Return.
func (k *keyOps) questions(meta harness.Meta) []keyQuestion {
	switch k.family {
	case filters:
		return []keyQuestion{{window{filterModel(), withEnds(filterOperations(k.ops, meta))}, Dedup()}}
	case sequences:
		return []keyQuestion{{window{sequenceModel(), withEnds(sequenceOperations(k.ops))}, Sequence()}}
	}
	out := []keyQuestion{{window{lockModel(), withEnds(lockOperations(k.ops, meta))}, Mutex()}}
	if slices.ContainsFunc(k.ops, func(x harness.Op) bool { return x.Kind == harness.Acquire && x.Result != "" }) {
		out = append(out, keyQuestion{window{fenceModel(), withEnds(fenceOperations(k.ops, meta))}, Fence()})
	}
	return out
}

// String names the key with its size.
func (k *keyOps) String() string { return fmt.Sprintf("%q (%d operations)", k.key, len(k.ops)) }

// describeAsked says which keys were asked about, and which were not.
func (p *opinionPass) describeAsked() string {
	out := fmt.Sprintf("porcupine agreed with the checkers on %d of %d keys", p.agreed, p.asked)
	switch {
	case len(p.keys) == 0:
		return "porcupine judged no whole key: no lock, message or sequence was recorded"
	case p.asked == 0:
		out = fmt.Sprintf("porcupine judged none of %d whole keys", len(p.keys))
	case p.illegal > 0:
		out += fmt.Sprintf(", %d of them illegal", p.illegal)
	}
	var rest []string
	if p.large > 0 {
		rest = append(rest, fmt.Sprintf("%d were too large to ask, with more than %s operations or beyond the %s kept",
			p.large, units.Count(int64(p.ops)), units.Count(int64(p.maxOps))))
	}
	if p.slow > 0 {
		rest = append(rest, fmt.Sprintf("%d took too long", p.slow))
	}
	if p.beyond > 0 {
		rest = append(rest, fmt.Sprintf("%d operations of further keys were not kept", p.beyond))
	}
	return strings.Join(append([]string{out}, rest...), "; ")
}

// differencesNamed is the largest number of differences that a reason names.
const differencesNamed = 3

func (p *opinionPass) defect() string {
	named := strings.Join(p.differences[:min(len(p.differences), differencesNamed)], "; ")
	return fmt.Sprintf("the checkers and porcupine differ in %d cases, which is a defect of the harness: please "+
		"report it with the history: %s",
		len(p.differences), named)
}

func (p *opinionPass) figures() []harness.Figure {
	return []harness.Figure{
		figureKeysAsked.Count(p.asked), figureKeysAgreed.Count(p.agreed), figureKeysIllegal.Count(p.illegal),
		figureKeysLarge.Count(p.large), figureKeysSlow.Count(p.slow),
	}
}
