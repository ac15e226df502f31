package checkers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Writes returns the checker of acknowledged writes: what was acknowledged is there in the end, and what was refused is
// not.
//
// Adds put unique integers, their Arg, into the set Key. The last ok Read of that set by [harness.HarnessClient] says
// what survived:
//
//   - An ok add is lost if it had returned before the read was called and its integer is absent.
//   - A failed add is a [harness.UnexpectedWrite] if its integer is present although no other add can have put it
//     there. If the record stops before the run did, it may lack that other add, and the verdict is Unknown.
//   - An add in info may be present or not. Those present are counted as recovered.
//   - Integers that are present and in no add of the record are not judged: they may have been there before the run.
//
// If some set was not read after all of its ok adds, the verdict is Unknown unless a violation is found.
//
// The terms lost, unexpected and recovered come from Jepsen's set checker (jepsen.checker/set). Only lost means the
// same there. What Jepsen calls unexpected was read although no add of it was ever attempted; that is not judged here.
// What Jepsen calls recovered was read although its add was not ok; if the add failed, that is an unexpected write
// here.
//
// A set that a lock guards ([harness.Guarded]) is updated as a whole: an add writes back the set that its owner has
// read before, with the integer added. A lost write to a guarded set is a lost update, which another owner overwrote.
// Figures count lost updates apart.
//
// Lost writes come in thousands, so they are reported in runs: acknowledged writes of one worker in a row. There is one
// [harness.LostWrite] for each run, with the first and the last write as Ops. Figures count writes, not runs. A write
// counts as acknowledged during a fault if its Return lies in the fault's [Start, Heal]. Sources: Jepsen, Redis, 2013
// (https://aphyr.com/posts/283-jepsen-redis); Jepsen, Redis redux, 2013
// (https://aphyr.com/posts/307-jepsen-redis-redux); Redis documentation, "High availability with Redis Sentinel".
//
// Nothing can be decided before the read. The first pass over the history collects the final reads, and a second one
// compares every write with them. If a refused write is present, a third pass looks for another operation that wrote
// it. Memory holds what the reads found, as intervals, one run for each worker and set, and the refused writes that are
// present. Time is O(log n) per operation, and O(faults) for an acknowledged write. Where the history cannot be read
// again, as while a run goes on, the verdict is Unknown.
func Writes() harness.Checker { return writes{} }

type writes struct{}

func (writes) Name() string { return "writes" }

func (c writes) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := newWritesPass(h, report, func(harness.Op) {})
	err := p.run(ctx, h)
	p.doubts = append(p.doubts, noneSeen(p.adds, harness.Add))
	return p.judge(judgement{
		name: c.Name(), err: err, doubts: p.doubts, figures: p.counts.figures(),
		valid: fmt.Sprintf("all of %s acknowledged writes are there", units.Count(int64(p.counts.total.acknowledged))),
	})
}

// errOnce says that a later pass over a history saw fewer operations than the first.
var errOnce = errors.New("the history cannot be read again, as long as the run goes on")

// LostWrites lists the acknowledged writes of a history that its final reads do not show, in order of Return. [Writes]
// reports the same writes, but several in a row as one anomaly. A set that was never read loses none. LostWrites needs
// the memory of Writes, and some for each lost write.
func LostWrites(ctx context.Context, h harness.History) (lost []harness.Op, err error) {
	p := newWritesPass(h, func(harness.Anomaly) {}, func(x harness.Op) { lost = append(lost, x) })
	err = p.run(ctx, h)
	return lost, err
}

// writesPass makes the passes over a history.
type writesPass struct {
	*tally
	onLost      func(harness.Op) // function that is called with each lost write
	counts      *writeCounts
	sets        map[string]*set
	adds, read  int    // number of adds that the first pass saw (adds), and that the current pass saw (read)
	oddAdd      string // the doubt about the first add whose Arg is not an integer
	runsStarted int    // number of runs of lost writes so far
	unexpected  int    // number of refused writes that are present, in all sets
	doubts      []string
}

// set is one key, with what its final read found and what is missing from it.
type set struct {
	key        string
	guarded    bool       // a lock guards the set, so each write to it ends an update
	final      harness.Op // the last ok read by the harness; its Kind is empty if there is none
	present    intervals
	err        error        // why the content of the set is not known; nil: it is known
	lateAdds   int          // number of ok adds that returned after the read was called
	runs       map[int]*run // runs of lost writes that may go on, by worker
	unexpected map[int64]*unexpectedWrite
}

// unexpectedWrite is a refused write that is present.
type unexpectedWrite struct {
	harness.Op
	order int // place among all unexpected writes, in the order of the history
}

// run is a series of lost writes that one worker made in a row.
type run struct {
	worker      int
	order       int // place among all runs, in the order of the history
	first, last harness.Op
	n           int // number of writes
}

func newWritesPass(h harness.History, report func(harness.Anomaly), onLost func(harness.Op)) *writesPass {
	return &writesPass{tally: newTally(h, report), onLost: onLost, sets: map[string]*set{}, counts: newWriteCounts(h)}
}

func (p *writesPass) run(ctx context.Context, h harness.History) error {
	err := eachOp(ctx, h, p.collect)
	if err == nil {
		err = p.compare(ctx, h)
	}
	return err
}

// collect handles an operation of the first pass, which finds the final reads.
func (p *writesPass) collect(x harness.Op) {
	switch {
	case x.Kind == harness.Add:
		p.adds++
	case x.Kind == harness.Read && x.Client == harness.HarnessClient && x.Outcome == harness.OK:
		p.set(x.Key).final = x
	}
}

func (p *writesPass) set(key string) *set {
	s := p.sets[key]
	if s == nil {
		_, guarded := harness.GuardedBy(key)
		s = &set{key: key, guarded: guarded, runs: map[int]*run{}, unexpected: map[int64]*unexpectedWrite{}}
		p.sets[key] = s
	}
	return s
}

// survivors returns what the final read found.
func (s *set) survivors() (intervals, error) {
	if s.final.Kind == "" {
		return nil, fmt.Errorf("no final read of %s was recorded", s.key)
	}
	there, err := parseIntervals(s.final.Result)
	if err != nil {
		return nil, fmt.Errorf("the final read of %s makes no sense: %w", s.key, err)
	}
	return there, nil
}

// compare compares every write with the final read of its set.
func (p *writesPass) compare(ctx context.Context, h harness.History) error {
	for _, s := range p.sets {
		s.present, s.err = s.survivors()
	}
	err := eachOp(ctx, h, p.write)
	if err == nil && p.read == p.adds && p.unexpected > 0 {
		p.read = 0
		err = eachOp(ctx, h, p.dropExplained)
	}
	if err == nil && p.read != p.adds {
		err = errOnce
	}
	p.end(err == nil, isComplete(h))
	return err
}

// write handles an operation of the second pass. It counts an add, and follows the runs of lost adds.
func (p *writesPass) write(x harness.Op) {
	if x.Kind != harness.Add {
		return
	}
	p.read++
	value, err := strconv.ParseInt(x.Arg, 10, 64)
	if err != nil {
		if p.oddAdd == "" {
			p.oddAdd = fmt.Sprintf("client %d added %q, which is not an integer", x.Client, x.Arg)
		}
		return
	}
	s := p.sets[x.Key]
	if s == nil {
		s = p.set(x.Key)
		_, s.err = s.survivors()
	}
	if s.err != nil {
		p.counts.count(x, false, false)
		return
	}
	present := s.present.has(value)
	late := x.Outcome == harness.OK && x.Return >= s.final.Call
	if late {
		s.lateAdds++
	}
	lost := x.Outcome == harness.OK && !present && !late
	if lost {
		p.onLost(x)
	}
	p.counts.count(x, present, lost)
	switch x.Outcome {
	case harness.OK:
		p.follow(s, x, lost)
	case harness.Fail:
		if present {
			p.unexpected++
			s.unexpected[value] = &unexpectedWrite{x, p.unexpected}
		}
	}
}

// follow keeps the runs of lost writes up to date with x, an acknowledged write. If x is lost, x begins or extends a
// run of its worker. Otherwise x ends the worker's run.
func (p *writesPass) follow(s *set, x harness.Op, lost bool) {
	if s.guarded {
		p.counts.guarded.add(lost)
	}
	worker := p.meta.Worker(x.Client)
	r := s.runs[worker]
	switch {
	case lost && r == nil:
		p.runsStarted++
		s.runs[worker] = &run{worker: worker, order: p.runsStarted, first: x, last: x, n: 1}
	case lost:
		r.last = x
		r.n++
	case r != nil:
		p.add(p.lostAnomaly(s, r))
		delete(s.runs, worker)
	}
}

// dropExplained handles an operation of the third pass. An add that was not refused may have written its integer, so a
// refused write of the same integer is not unexpected.
func (p *writesPass) dropExplained(x harness.Op) {
	if x.Kind != harness.Add {
		return
	}
	if p.read++; x.Outcome == harness.Fail {
		return
	}
	if s := p.sets[x.Key]; s != nil {
		if value, err := strconv.ParseInt(x.Arg, 10, 64); err == nil {
			delete(s.unexpected, value)
		}
	}
}

// end reports, key by key, what is still open after the last pass: doubts about the final read, unexpected writes, and
// runs of lost writes that last to the end. Unexpected writes are reported only if each pass read all operations
// (readAll) and the record goes on to the end of the run (complete). If only readAll is true, they make the verdict
// Unknown.
func (p *writesPass) end(readAll, complete bool) {
	unexplained := 0
	if p.oddAdd != "" {
		p.doubts = append(p.doubts, p.oddAdd)
	}
	for _, key := range slices.Sorted(maps.Keys(p.sets)) {
		s := p.sets[key]
		if s.err != nil {
			p.doubts = append(p.doubts, s.err.Error())
		}
		if s.lateAdds > 0 {
			p.doubts = append(p.doubts, fmt.Sprintf("%d acknowledged writes to %s came after its final read was called",
				s.lateAdds, key))
		}
		unexpected := slices.SortedFunc(maps.Values(s.unexpected),
			func(a, b *unexpectedWrite) int { return a.order - b.order })
		for _, w := range unexpected {
			switch {
			case readAll && complete:
				p.add(s.unexpectedAnomaly(w.Op))
			case readAll:
				unexplained++
			}
		}
		for _, r := range slices.SortedFunc(maps.Values(s.runs), func(a, b *run) int { return a.order - b.order }) {
			p.add(p.lostAnomaly(s, r))
		}
	}
	if unexplained > 0 {
		p.doubts = append(p.doubts,
			fmt.Sprintf("the record stops before it is known of %d refused writes that are there whether others added "+
				"the same", unexplained))
	}
}

func (s *set) unexpectedAnomaly(x harness.Op) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.UnexpectedWrite, Key: s.key, From: x.Call, To: x.Return, Ops: []harness.Op{written(x)},
		Note: fmt.Sprintf("client %d was refused %s at %s, yet %s holds it in the end", x.Client, written(x).Arg,
			formatTime(x.Return), s.key),
	}
}

// lostAnomaly returns the anomaly of the run r of lost writes to the set s. The fault that loses a write may come after
// the write. So if no fault overlaps the anomaly's time, that time is extended to the start of the next fault.
func (p *writesPass) lostAnomaly(s *set, r *run) harness.Anomaly {
	first, last := written(r.first), written(r.last)
	a := harness.Anomaly{
		Class: harness.LostWrite, Key: s.key, From: first.Call, To: p.counts.untilNextFault(first.Call, last.Return),
		Ops:  []harness.Op{first},
		Note: fmt.Sprintf("worker %d lost %s, acknowledged at %s", r.worker, first.Arg, formatTime(first.Return)),
	}
	if r.n > 1 {
		a.Count = r.n
		a.Ops = append(a.Ops, last)
		a.Note = fmt.Sprintf("worker %d lost %d acknowledged writes in a row, from %s at %s to %s at %s",
			r.worker, r.n, first.Arg, formatTime(first.Return), last.Arg, formatTime(last.Return))
	}
	return a
}

// written returns x as reports show it: without the token of its owner.
func written(x harness.Op) harness.Op {
	x.Result = ""
	return x
}
