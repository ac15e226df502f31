package checkers

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Gates returns the checker of the run itself: could the run have shown a violation at all? It never says Invalid. It
// says Unknown, with everything that is missing, unless
//
//   - the record is complete and the run came to its end;
//   - every kind in Meta.Kinds has an ok operation. Of [harness.HarnessClient] only reads and inspections count;
//   - acquires, claims and numbers met contention, as far as they are promised: two workers asked for one key at the
//     same time, and one of them got it;
//   - a claim was answered [harness.ResultFirst], if claims are promised;
//   - every sequence that was asked for a number gave one;
//   - every situation in Meta.Situations was met;
//   - every fault was proved and ended;
//   - every restart of a primary had data to lose. If acquires are promised, a lock was held through the restart and
//     asked for afterwards. If claims are promised, a message was marked through the restart and asked for afterwards;
//   - no Sentinel entered TILT mode, in which it does nothing, except by a fault. A fault with that Sentinel as its
//     target explains TILT mode from its Start to its End, and for a second after its Heal;
//   - there was load in each phase, see below;
//   - the clocks of the generators, if there are any, were known to within a quarter of the shortest lease or window.
//     Each generator had an ok operation. Contention and situations are then counted inside each generator, where times
//     are certain.
//
// The phases of a run are the time before the first fault, each fault from its Active to its Heal, and the time after
// the last fault ended. A run without faults is one phase. An operation belongs to every phase that overlaps the time
// from its Call to its Return. Operations of [harness.HarnessClient] do not count. Neither do deliveries, which ask
// nothing of the system.
//
// Load means at least one operation, and at least Meta.Rate/10 per second if a rate was asked for. During a fault, when
// workers may hang until they time out, one operation per worker every two seconds suffices. No load is expected of a
// worker while a fault freezes its client group ([harness.Fault].Frozen). The phases before and after all faults also
// need an ok operation of a promised kind by the main workload.
//
// Gates also counts the situations of [Situations].
//
// Source: soundness rule 6. Time is O(faults) per operation. Memory is constant. With very many keys, contention and
// situations are watched only on the latest 8,192 to 16,384, so they may be undercounted. Only 4,096 sequences are
// watched for whether they give numbers.
func Gates() harness.Checker { return gates{} }

type gates struct{}

func (gates) Name() string { return "gates" }

func (c gates) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &gatesPass{
		tally: newTally(h, report), h: h, phases: phasesOf(h), ok: map[harness.Kind]int{},
		situations: newSituationsOfShares(h),
		gaveNumber: map[string]bool{}, clockBound: widestClockBound(h.Events),
	}
	err := eachOp(ctx, h, p.op)
	doubts := slices.Concat(p.missingRecord(), p.missingKinds(), p.missingContention(), p.missingGrants(),
		p.missingProofs(), p.tiltsWithoutFault(), p.missingLoad(), p.looseClocks(), p.situations.idleShares(),
		p.situations.vacuousRestarts())
	if p.meta.Workers == 1 && slices.ContainsFunc(contests, func(c contended) bool {
		return slices.Contains(p.meta.Kinds, c.kind)
	}) { // everything else that is missing comes of that
		doubts = append(p.missingRecord(), "no contention: one client has nobody to contend with: ask for 2 or more "+
			"(--clients)")
	}
	if err != nil {
		doubts = nil // what is missing may just not have been read
	}
	j := p.judge(judgement{
		name: c.Name(), err: err, doubts: doubts, figures: p.figures(),
		valid: "every promised kind of operation, contention, load in every phase, every fault proved",
	})
	j.Situations = p.situations.List()
	return j
}

// gatesPass is one pass over a history.
type gatesPass struct {
	*tally
	h             harness.History
	situations    situationsOfShares
	phases        []*phase
	ok            map[harness.Kind]int
	outcomes      [3]int
	toldFirst     bool            // a claim was answered "first"
	gaveNumber    map[string]bool // for each sequence that was asked for a number: whether it gave one
	started       bool
	firstCall     time.Duration // the earliest Call of a worker
	lastReturn    time.Duration // the latest Return of a worker
	clockBound    time.Duration // uncertainty of the generators' clocks; 0: no generators
	shortestLease time.Duration // the shortest lease or window; 0: there was none
}

func (p *gatesPass) op(x harness.Op) {
	p.outcomes[x.Outcome%3]++
	if x.Outcome == harness.OK && (x.Client != harness.HarnessClient || isLook(x.Kind)) {
		p.ok[x.Kind]++
	}
	if x.Client == harness.HarnessClient || x.Kind == harness.Deliver {
		return
	}
	if !p.started || x.Call < p.firstCall {
		p.started, p.firstCall = true, x.Call
	}
	p.lastReturn = x.Return
	p.situations.Op(x)
	p.noteResult(x)
	p.noteLease(x)
	for _, ph := range p.phases {
		if x.Call <= ph.to && x.Return >= ph.from {
			ph.ops++
			if x.Outcome == harness.OK && p.isMain(x) {
				ph.mainOK = true
			}
		}
	}
}

// noteResult records the answer of x: whether it is a claim that was answered "first", or whether its sequence gave a
// number.
func (p *gatesPass) noteResult(x harness.Op) {
	switch x.Kind {
	case harness.Claim:
		p.toldFirst = p.toldFirst || gotIt(x)
	case harness.Next:
		if gave, asked := p.gaveNumber[x.Key]; asked && !gave || !asked && len(p.gaveNumber) < sequencesWatched {
			p.gaveNumber[x.Key] = x.Outcome == harness.OK
		}
	}
}

// sequencesWatched bounds the number of sequences for which it is recorded whether they gave a number.
const sequencesWatched = 4096

// isMain reports whether x is a promised operation of the main workload.
func (p *gatesPass) isMain(x harness.Op) bool {
	return slices.Contains(p.meta.Kinds, x.Kind) && (p.meta.Clients == 0 || p.meta.Worker(x.Client) < p.meta.Clients)
}

// isLook reports whether the harness uses operations of kind k to look at the system. It uses the other kinds in place
// of a client.
func isLook(k harness.Kind) bool { return k == harness.Read || k == harness.Inspect }

// contended is a kind of operation for which workers compete, and the name under which the cases of contention are
// counted.
type contended struct {
	kind harness.Kind
	name harness.SituationName
}

// contests lists the kinds of operation for which workers compete.
var contests = []contended{
	{harness.Acquire, harness.AcquiresAtOnce}, {harness.Claim, harness.ClaimsAtOnce},
	{harness.Next, harness.DrawsAtOnce},
}

// missingRecord returns a reason for Unknown if the run was not recorded to its end.
func (p *gatesPass) missingRecord() []string {
	switch {
	case p.h.End == nil:
		return []string{"the record stops before the run did"}
	case p.h.End.Reason != "":
		return []string{"the run ended early: " + p.h.End.Reason}
	}
	return nil
}

// missingKinds lists the promised kinds without an ok operation.
func (p *gatesPass) missingKinds() (missing []string) {
	if len(p.meta.Kinds) == 0 {
		return []string{"the run promised no kind of operation"}
	}
	for _, k := range p.meta.Kinds {
		if p.ok[k] == 0 {
			missing = append(missing, fmt.Sprintf("no %s was ok", k))
		}
	}
	return missing
}

// missingContention lists the promised kinds without contention. Contention means that two workers asked for one key at
// the same time, and one of them got it.
func (p *gatesPass) missingContention() (missing []string) {
	for _, c := range contests {
		if slices.Contains(p.meta.Kinds, c.kind) && p.ok[c.kind] > 0 && p.situations.Count(c.name) == 0 {
			missing = append(missing,
				fmt.Sprintf("no contention: never did the %ss of two workers meet and one of them get what both wanted",
					c.kind))
		}
	}
	return missing
}

// missingGrants lists what the load should have shown and did not: a claim that was answered "first", a number from
// each sequence, each promised situation.
func (p *gatesPass) missingGrants() (missing []string) {
	if slices.Contains(p.meta.Kinds, harness.Claim) && p.ok[harness.Claim] > 0 && !p.toldFirst {
		missing = append(missing, `no claim was told "first", so nothing was marked that could be claimed twice`)
	}
	for _, key := range slices.Sorted(maps.Keys(p.gaveNumber)) {
		if !p.gaveNumber[key] {
			missing = append(missing, fmt.Sprintf("%s never gave a number", key))
		}
	}
	for _, name := range p.meta.Situations {
		if p.situations.Count(name) == 0 {
			missing = append(missing,
				fmt.Sprintf("never occurred: %s (let the run last for several leases or windows, or ask for shorter "+
					"ones)", name))
		}
	}
	return missing
}

// missingProofs lists the faults without a proof or an end.
func (p *gatesPass) missingProofs() (missing []string) {
	for _, f := range p.h.Faults {
		if !f.Proved {
			missing = append(missing, fmt.Sprintf("the fault %s at %s was not proved: %s", f.Name, formatTime(f.Start),
				f.Proof))
		}
		if f.End == 0 {
			missing = append(missing, fmt.Sprintf("the fault %s at %s never healed", f.Name, formatTime(f.Start)))
		}
	}
	return missing
}

// tiltsWithoutFault lists the Sentinels that entered TILT mode without a fault. A Sentinel enters TILT mode when its
// clock jumps or after it was stopped. Then it does nothing for 30 seconds. If no fault caused that, the machine
// failed, not the system under test.
func (p *gatesPass) tiltsWithoutFault() (missing []string) {
	for _, e := range p.h.Events {
		if e.Kind == "+tilt" && !slices.ContainsFunc(p.h.Faults,
			func(f harness.Fault) bool { return explainsTilt(f, e) }) {
			missing = append(missing, fmt.Sprintf("the Sentinel %s entered TILT mode at %s", e.Node, formatTime(e.At)))
		}
	}
	return missing
}

// tiltDelay is how long a Sentinel may still report TILT after a fault that stopped it was healed. A Sentinel's timer
// runs ten times a second.
const tiltDelay = time.Second

// explainsTilt reports whether the fault f may have made the Sentinel of the event e enter TILT mode.
func explainsTilt(f harness.Fault, e harness.Event) bool {
	return slices.Contains(f.Targets, e.Node) && (f.Overlaps(e.At, e.At) || f.Start <= e.At && e.At <= f.Heal+tiltDelay)
}

// missingLoad lists the phases without enough operations.
func (p *gatesPass) missingLoad() (missing []string) {
	h := p.h
	h.Faults = h.FaultsByStart()
	slow := false
	for _, ph := range p.phases {
		from := max(ph.from, p.firstCall)
		to := min(ph.to, p.lastReturn)
		rate := p.meta.Rate / 10
		if ph.fault { // the phase of a fault counts in full, whether or not clients act
			end := ph.to
			if end == harness.Forever { // The record stops while it is in force.
				end = max(ph.from, p.lastReturn)
			}
			awake := awakeShare(h, ph.from, end)
			if awake == 0 {
				continue
			}
			from, to = ph.from, end
			rate = awake * min(rate, float64(p.meta.Workers)/2)
		}
		missingHere, slowHere := ph.missing(rate, to-from)
		missing, slow = append(missing, missingHere...), slow || slowHere
	}
	if slow {
		missing = append(missing,
			fmt.Sprintf("a tenth of the %s operations a second that were aimed at is enough: aim at a lower rate "+
				"(--rate), or let the load take longer (--duration)",
				units.Whole(p.meta.Rate)))
	}
	return missing
}

// countRivals counts the operations that contended with another worker.
func (p *gatesPass) countRivals() (n int) {
	for _, c := range contests {
		n += p.situations.Count(c.name)
	}
	return n
}

func (p *gatesPass) figures() []harness.Figure {
	ok, fail, info := p.outcomes[harness.OK], p.outcomes[harness.Fail], p.outcomes[harness.Info]
	all := []harness.Figure{
		FigureOps.Count(ok + fail + info), figureOK.Count(ok), figureFailed.Count(fail), FigureUnanswered.Count(info),
		figureContended.Count(p.countRivals()),
	}
	if p.clockBound > 0 {
		all = append(all, figureClockBound.Of(p.clockBound.Seconds()*1000))
	}
	return all
}

// phase is a part of a run.
type phase struct {
	name     string
	from, to time.Duration
	fault    bool // the phase is the time of a fault, in which no operation has to be ok
	ops      int
	mainOK   bool // an operation of the main workload was ok
}

// phasesOf splits a run at its faults. A fault that never healed leaves no phase after it.
func phasesOf(h harness.History) []*phase {
	if len(h.Faults) == 0 {
		return []*phase{{name: "during the run", to: forever}}
	}
	before := &phase{name: "before the first fault", to: forever}
	after := &phase{name: "after the last fault", to: forever}
	phases := []*phase{before}
	for _, f := range h.Faults {
		before.to = min(before.to, f.Start)
		if f.End == 0 {
			after = nil
		}
		if after != nil {
			after.from = max(after.from, f.End)
		}
		if f.Proved {
			phases = append(phases, &phase{name: "during " + f.Name, from: f.Active, to: f.InForceUntil(), fault: true})
		}
	}
	if after != nil {
		phases = append(phases, after)
	}
	return phases
}

// missing lists what a phase lacks. The phase has the given length. On average it needs as many operations a second as
// the parameter rate says and, outside faults, an ok operation of the main workload. The second result is true if there
// were too few operations.
func (ph *phase) missing(rate float64, length time.Duration) (all []string, slow bool) {
	if need := max(1, rate*length.Seconds()); float64(ph.ops) < need {
		slow = true
		all = append(all, fmt.Sprintf("%s operations %s, where at least %s were wanted", units.Count(int64(ph.ops)),
			ph.name, units.Whole(math.Ceil(need))))
	}
	if !ph.fault && ph.ops > 0 && !ph.mainOK {
		all = append(all, "no operation of the main workload was ok "+ph.name)
	}
	return all, slow
}
