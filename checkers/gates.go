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

// Gates returns the checker of the run itself: could it have shown a violation at all? It never says Invalid. It says Unknown,
// with everything that is missing, unless
//
//   - the record is complete and the run came to its end;
//   - every kind in Meta.Kinds has an operation that is ok; of [harness.HarnessClient] only reads and inspections count, not
//     what it tried in the clients' place;
//   - two workers asked for one key at one time and one of them got it, if acquires, claims or numbers are promised: for each
//     of these kinds;
//   - a claim was told [harness.ResultFirst], if claims are promised;
//   - every sequence that was asked for a number gave one;
//   - every situation in Meta.Situations was met;
//   - every fault was proved and ended;
//   - through every restart of a primary at once, which may have lost its data, a lock was held that somebody asked for afterwards, if
//     acquires are promised, and a message was marked, if claims are;
//   - no Sentinel entered TILT mode, in which it does nothing, but as a consequence of a fault: it was a target of one that
//     was in force, or had not ended, or had healed less than a second before;
//   - there was load in each phase, [harness.HarnessClient] aside: before the first fault and after the end of the last one
//     also with an ok operation of a promised kind from the main workload, and during each fault, from its Active to its
//     Heal. An operation belongs to a phase that its interval meets; a delivery to none, since it asks nothing of the
//     system. Load is at least one operation, and at least Meta.Rate/10 a second if a rate was asked for; during a fault,
//     where workers may hang until their time-outs, no more than an operation of each worker every two seconds. Nothing
//     is asked of workers for as long as a fault keeps their client group from doing anything ([harness.Fault].Frozen), and
//     of a phase in which all were frozen all the time no load. A run without faults is one phase;
//   - the clocks of its generators, if it has some, were known to within a quarter of the shortest lease or window, and
//     each had an operation that was ok. What met what is then counted inside of each, where times
//     are certain.
//
// It counts the situations of [Situations] as well.
//
// Source: soundness rule 6. Time is O(faults) an operation. Memory is constant: of very many keys only the latest 8,192
// to 16,384 are watched for contention and situations, so that they may be undercounted, and of sequences 4,096.
func Gates() harness.Checker { return gates{} }

type gates struct{}

func (gates) Name() string { return "gates" }

func (c gates) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &gatesPass{
		tally: newTally(h, found), h: h, phases: phasesOf(h), ok: map[harness.Kind]int{}, situations: newSituationsOfShares(h),
		drawn: map[string]bool{}, clocks: clocksOf(h.Events),
	}
	err := eachOp(ctx, h, p.op)
	doubts := slices.Concat(p.missingRecord(), p.missingKinds(), p.missingContention(), p.missingGrants(), p.missingProofs(), p.tiltsWithoutFault(), p.missingLoad(), p.looseClocks(), p.situations.idle(),
		p.situations.vacuousRestarts())
	if err != nil {
		doubts = nil // what is missing may only not have been read
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
	h          harness.History
	situations situationsOfShares
	phases     []*phase
	ok         map[harness.Kind]int
	outcomes   [3]int
	marked     bool            // a claim was told "first"
	drawn      map[string]bool // sequences that were asked, and whether they gave a number
	started    bool
	first      time.Duration // the first Call of a worker
	last       time.Duration // the last Return of one
	clocks     time.Duration // how well the generators' clocks were known; 0: there are none
	shortest   time.Duration // lease or window; 0: none
}

func (p *gatesPass) op(x harness.Op) {
	p.outcomes[x.Outcome%3]++
	if x.Outcome == harness.OK && (x.Client != harness.HarnessClient || isLook(x.Kind)) {
		p.ok[x.Kind]++
	}
	if x.Client == harness.HarnessClient || x.Kind == harness.Deliver {
		return
	}
	if !p.started || x.Call < p.first {
		p.started, p.first = true, x.Call
	}
	p.last = x.Return
	p.situations.Op(x)
	p.noteGiven(x)
	p.noteLease(x)
	for _, ph := range p.phases {
		if x.Call <= ph.to && x.Return >= ph.from {
			ph.ops++
			if x.Outcome == harness.OK && p.isMain(x) {
				ph.ok = true
			}
		}
	}
}

// noteGiven notes what x, a claim or a draw, was given.
func (p *gatesPass) noteGiven(x harness.Op) {
	switch x.Kind {
	case harness.Claim:
		p.marked = p.marked || gotIt(x)
	case harness.Next:
		if gave, asked := p.drawn[x.Key]; asked && !gave || !asked && len(p.drawn) < sequencesWatched {
			p.drawn[x.Key] = x.Outcome == harness.OK
		}
	}
}

// sequencesWatched bounds the sequences that are watched for whether they gave a number.
const sequencesWatched = 4096

// isMain reports whether x is a promised operation of the main workload.
func (p *gatesPass) isMain(x harness.Op) bool {
	return slices.Contains(p.meta.Kinds, x.Kind) && (p.meta.Clients == 0 || p.meta.Worker(x.Client) < p.meta.Clients)
}

// isLook reports whether k is what the harness does itself, in no client's place.
func isLook(k harness.Kind) bool { return k == harness.Read || k == harness.Inspect }

// contests lists the kinds that contend, each with the situation in which two of them do.
var contests = []struct {
	kind harness.Kind
	name harness.SituationName
}{
	{harness.Acquire, harness.AcquiresAtOnce}, {harness.Claim, harness.ClaimsAtOnce}, {harness.Next, harness.DrawsAtOnce},
}

// missingRecord returns what is missing if the run was not recorded to its end.
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

// missingContention lists the promised kinds that should contend and did not: no two workers wanted one key at one time, of whom one
// got it.
func (p *gatesPass) missingContention() (missing []string) {
	for _, c := range contests {
		if slices.Contains(p.meta.Kinds, c.kind) && p.ok[c.kind] > 0 && p.situations.Count(c.name) == 0 {
			missing = append(missing, fmt.Sprintf("no contention: never did the %ss of two workers meet and one of them get what both wanted", c.kind))
		}
	}
	return missing
}

// missingGrants lists what is missing of three things: a claim that was told that its message is new, a number from every sequence, and
// the promised situations.
func (p *gatesPass) missingGrants() (missing []string) {
	if slices.Contains(p.meta.Kinds, harness.Claim) && p.ok[harness.Claim] > 0 && !p.marked {
		missing = append(missing, `no claim was told "first", so nothing was marked that could be claimed twice`)
	}
	for _, key := range slices.Sorted(maps.Keys(p.drawn)) {
		if !p.drawn[key] {
			missing = append(missing, fmt.Sprintf("%s never gave a number", key))
		}
	}
	for _, name := range p.meta.Situations {
		if p.situations.Count(name) == 0 {
			missing = append(missing, fmt.Sprintf("never occurred: %s (let the run last for several leases or windows, or ask for shorter ones)", name))
		}
	}
	return missing
}

// missingProofs lists the faults without a proof or an end.
func (p *gatesPass) missingProofs() (missing []string) {
	for _, f := range p.h.Faults {
		if !f.Proved {
			missing = append(missing, fmt.Sprintf("the fault %s at %s was not proved: %s", f.Name, formatTime(f.Start), f.Proof))
		}
		if f.End == 0 {
			missing = append(missing, fmt.Sprintf("the fault %s at %s never healed", f.Name, formatTime(f.Start)))
		}
	}
	return missing
}

// tiltsWithoutFault lists Sentinels that stopped acting without a fault: one whose clock jumps, or that is stopped, does nothing for 30
// seconds. Unless a fault did that to it, it is the machine's failure and says nothing about the system under test.
func (p *gatesPass) tiltsWithoutFault() (missing []string) {
	for _, e := range p.h.Events {
		if e.Kind == "+tilt" && !slices.ContainsFunc(p.h.Faults, func(f harness.Fault) bool { return tilted(f, e) }) {
			missing = append(missing, fmt.Sprintf("the Sentinel %s entered TILT mode at %s", e.Node, formatTime(e.At)))
		}
	}
	return missing
}

// tiltSeen bounds how long after the heal a Sentinel that was stopped says so; its timer runs ten times a second.
const tiltSeen = time.Second

// tilted reports whether the Sentinel of e, which entered TILT mode, did so because of f.
func tilted(f harness.Fault, e harness.Event) bool {
	return slices.Contains(f.Targets, e.Node) && (f.Overlaps(e.At, e.At) || f.Start <= e.At && e.At <= f.Heal+tiltSeen)
}

// missingLoad lists the phases without enough operations.
func (p *gatesPass) missingLoad() (missing []string) {
	h := p.h
	h.Faults = h.FaultsByStart()
	slow := false
	for _, ph := range p.phases {
		from, to, rate := max(ph.from, p.first), min(ph.to, p.last), p.meta.Rate/10
		if ph.fault { // it lasts as long as it lasts, whether or not clients speak
			end := ph.to
			if end == harness.Forever { // the record stops while it is in force
				end = max(ph.from, p.last)
			}
			awake := awakeShare(h, ph.from, end)
			if awake == 0 {
				continue
			}
			from, to, rate = ph.from, end, awake*min(rate, float64(p.meta.Workers)/2)
		}
		lacks, short := ph.lackOfLoad(rate, to-from)
		missing, slow = append(missing, lacks...), slow || short
	}
	if slow {
		missing = append(missing, fmt.Sprintf("a tenth of the %s operations a second that were aimed at is enough: aim at a lower rate (--rate), or let the load take longer (--duration)",
			units.Whole(p.meta.Rate)))
	}
	return missing
}

// countRivals returns how many operations met a rival.
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
	if p.clocks > 0 {
		all = append(all, figureClockBound.Of(p.clocks.Seconds()*1000))
	}
	return all
}

// phase is a part of a run.
type phase struct {
	name     string
	from, to time.Duration
	fault    bool // during one, where nothing has to be ok
	ops      int
	ok       bool // one of the main workload
}

// phasesOf splits a run at its faults. A phase that an unhealed fault leaves open is not asked for.
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
			phases = append(phases, &phase{name: "during " + f.Name, from: f.Active, to: f.Until(), fault: true})
		}
	}
	if after != nil {
		phases = append(phases, after)
	}
	return phases
}

// lackOfLoad says what the phase, of the given length, lacks of its load: rate operations a second.
func (ph *phase) lackOfLoad(rate float64, length time.Duration) (lacks []string, slow bool) {
	if need := max(1, rate*length.Seconds()); float64(ph.ops) < need {
		slow = true
		lacks = append(lacks, fmt.Sprintf("%s operations %s, where at least %s were wanted", units.Count(int64(ph.ops)), ph.name, units.Whole(math.Ceil(need))))
	}
	if !ph.fault && ph.ops > 0 && !ph.ok {
		lacks = append(lacks, "no operation of the main workload was ok "+ph.name)
	}
	return lacks, slow
}
