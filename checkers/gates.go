package checkers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Gates returns the checker of the run itself: could it have shown a violation at all? It never says Invalid. It says Unknown,
// with everything that is missing, unless
//
//   - the record is complete and the run came to its end;
//   - every kind in Meta.Kinds has an operation that is ok; of [harness.HarnessClient] only reads and inspections count, not
//     what it tried in the clients' place;
//   - two workers asked for one key at one time, if acquires, claims or numbers are promised;
//   - every fault was proved and ended;
//   - no Sentinel entered TILT mode, in which it does nothing, but as a consequence of a fault: it was a target of one that
//     was in force, or had not ended, or had healed less than a second before;
//   - there was load in each phase, [harness.HarnessClient] aside: before the first fault and after the end of the last one
//     also with an ok operation of a promised kind from the main workload, and during each fault, from its Bit to its
//     Heal. An operation belongs to a phase that its interval meets; a delivery to none, since it asks nothing of the
//     system. Load is at least one operation, and at least Meta.Rate/10 a second if a rate was asked for; during a fault,
//     where workers may hang until their time-outs, no more than an operation of each worker every two seconds. Nothing
//     is asked of workers for as long as a fault keeps their client group from doing anything ([harness.Fault].Frozen), and
//     of a phase in which all were frozen all the time no load. A run without faults is one phase.
//
// Source: soundness rule 6. Time is O(faults) an operation. Memory is constant: of very many keys only the latest 32,768
// to 65,536 are watched for contention, so that it may be undercounted.
func Gates() harness.Checker { return gates{} }

type gates struct{}

func (gates) Name() string { return "gates" }

func (c gates) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &gatesPass{tally: newTally(h, found), h: h, phases: phasesOf(h), ok: map[harness.Kind]int{}}
	err := each(ctx, h, p.op)
	doubts := slices.Concat(p.record(), p.kinds(), p.contention(), p.faults(), p.environment(), p.load())
	if err != nil {
		doubts = nil // what is missing may only not have been read
	}
	return p.judge(judgement{
		name: c.Name(), err: err, doubts: doubts, figures: p.figures(),
		valid: "every promised kind of operation, contention, load in every phase, every fault proved",
	})
}

// gatesPass is one pass over a history.
type gatesPass struct {
	*tally
	h        harness.History
	phases   []*phase
	ok       map[harness.Kind]int
	outcomes [3]int
	rivals   rivals
	rivalry  int // operations that met a rival
	started  bool
	first    time.Duration // the first Call of a worker
	last     time.Duration // the last Return of one
}

func (p *gatesPass) op(x harness.Op) {
	p.outcomes[x.Outcome%3]++
	if x.Outcome == harness.OK && (x.Client != harness.HarnessClient || looks(x.Kind)) {
		p.ok[x.Kind]++
	}
	if x.Client == harness.HarnessClient || x.Kind == harness.Deliver {
		return
	}
	if !p.started || x.Call < p.first {
		p.started, p.first = true, x.Call
	}
	p.last = x.Return
	if contends(x.Kind) && p.rivals.met(x, p.meta.Worker(x.Client)) {
		p.rivalry++
	}
	for _, ph := range p.phases {
		if x.Call <= ph.to && x.Return >= ph.from {
			ph.ops++
			if x.Outcome == harness.OK && p.main(x) {
				ph.ok++
			}
		}
	}
}

// main reports whether x is what the main workload is about.
func (p *gatesPass) main(x harness.Op) bool {
	return slices.Contains(p.meta.Kinds, x.Kind) && (p.meta.Clients == 0 || p.meta.Worker(x.Client) < p.meta.Clients)
}

// looks reports whether k is what the harness does itself, in no client's place.
func looks(k harness.Kind) bool { return k == harness.Read || k == harness.Inspect }

func contends(k harness.Kind) bool {
	return k == harness.Acquire || k == harness.Claim || k == harness.Next
}

// record asks whether the run was recorded to its end.
func (p *gatesPass) record() []string {
	switch {
	case p.h.End == nil:
		return []string{"the record stops before the run did"}
	case p.h.End.Reason != "":
		return []string{"the run ended early: " + p.h.End.Reason}
	}
	return nil
}

// kinds asks for an ok operation of each promised kind.
func (p *gatesPass) kinds() (missing []string) {
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

// contention asks for two workers that wanted one key at one time.
func (p *gatesPass) contention() []string {
	if p.rivalry == 0 && slices.ContainsFunc(p.meta.Kinds, contends) {
		return []string{"no contention: never did two workers ask for one key at one time"}
	}
	return nil
}

// faults asks for the proof and the end of every fault.
func (p *gatesPass) faults() (missing []string) {
	for _, f := range p.h.Faults {
		if !f.Proved {
			missing = append(missing, fmt.Sprintf("the fault %s at %s was not proved: %s", f.Name, moment(f.Start), f.Proof))
		}
		if f.End == 0 {
			missing = append(missing, fmt.Sprintf("the fault %s at %s never healed", f.Name, moment(f.Start)))
		}
	}
	return missing
}

// environment asks that no Sentinel stopped acting: one whose clock jumps, or that is stopped itself, does nothing for 30
// seconds. Unless a fault did that to it, it is the machine's failure and says nothing about the system under test.
func (p *gatesPass) environment() (missing []string) {
	for _, e := range p.h.Events {
		if e.Kind == "+tilt" && !slices.ContainsFunc(p.h.Faults, func(f harness.Fault) bool { return tilted(f, e) }) {
			missing = append(missing, fmt.Sprintf("the Sentinel %s entered TILT mode at %s", e.Node, moment(e.At)))
		}
	}
	return missing
}

// tiltSeen is how long after the heal a Sentinel that was stopped may take to say so; its timer runs ten times a second.
const tiltSeen = time.Second

// tilted reports whether the Sentinel of e, which entered TILT mode, did so because of f.
func tilted(f harness.Fault, e harness.Event) bool {
	return slices.Contains(f.Targets, e.Node) && (f.Overlaps(e.At, e.At) || f.Start <= e.At && e.At <= f.Heal+tiltSeen)
}

// load asks for operations in every phase.
func (p *gatesPass) load() (missing []string) {
	h := p.h
	h.Faults = h.FaultsByStart()
	for _, ph := range p.phases {
		from, to, rate := max(ph.from, p.first), min(ph.to, p.last), p.meta.Rate/10
		if ph.fault { // it lasts as long as it lasts, whether or not clients speak
			awake := awake(h, ph.from, ph.to)
			if awake == 0 {
				continue
			}
			from, to, rate = ph.from, ph.to, awake*min(rate, float64(p.meta.Workers)/2)
		}
		if err := ph.reached(rate, to-from); err != nil {
			missing = append(missing, err.Error())
		}
	}
	return missing
}

func (p *gatesPass) figures() []harness.Figure {
	ok, fail, info := p.outcomes[harness.OK], p.outcomes[harness.Fail], p.outcomes[harness.Info]
	return []harness.Figure{
		figure("ops", ok+fail+info), figure("ok", ok), figure("fail", fail), figure("info", info),
		figure("contended ops", p.rivalry),
	}
}

// phase is a part of a run.
type phase struct {
	name     string
	from, to time.Duration
	fault    bool // during one, where nothing has to be ok
	ops, ok  int
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
			phases = append(phases, &phase{name: "during " + f.Name, from: f.Bit, to: f.Heal, fault: true})
		}
	}
	if after != nil {
		phases = append(phases, after)
	}
	return phases
}

// reached asks whether the phase, of the given length, had its load: rate operations a second.
func (ph *phase) reached(rate float64, length time.Duration) error {
	var lacks []string
	if need := max(1, rate*length.Seconds()); float64(ph.ops) < need {
		lacks = append(lacks, fmt.Sprintf("%d operations %s, where at least %.0f were wanted", ph.ops, ph.name, need))
	}
	if !ph.fault && ph.ops > 0 && ph.ok == 0 {
		lacks = append(lacks, "no operation of the main workload was ok "+ph.name)
	}
	if lacks == nil {
		return nil
	}
	return errors.New(strings.Join(lacks, "; "))
}
