package checkers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Writes returns the checker of acknowledged writes: what was acknowledged is there in the end, what was refused is not.
//
// Adds put unique integers, their Arg, into the set Key; the last ok Read of that set by [harness.HarnessClient] says what
// survived. An ok add that returned before the read was called and is absent is lost. A fail add that is present, although
// nobody else added that integer, is a [harness.PhantomWrite]. An info add may be present or not; those present are counted.
// Without a read of every set the verdict is Unknown, if nothing worse was found.
//
// A set that a lock guards ([harness.Guarded]) is updated as a whole: whoever adds writes back what it has read before. A
// lost write is a lost update there, which another owner has overwritten; figures count those apart.
//
// Lost writes come in thousands, so there is one [harness.LostWrite] for each run of them: acknowledged writes of one
// worker in a row, with the first and the last as Ops. The figures count writes, not runs. A write counts as acknowledged
// during a fault if its Return lies in the fault's [Start, Heal]. Sources: catalogue 5, results A, B and E.
//
// Nothing can be decided before the read, so memory is linear: 40 bytes a write.
func Writes() harness.Checker { return writes{} }

type writes struct{}

func (writes) Name() string { return "writes" }

func (c writes) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &writesPass{tally: newTally(h, found), sets: map[string]*set{}, ledger: newLedger(h)}
	err := each(ctx, h, p.op)
	if err == nil {
		p.compare()
	}
	p.doubts = append(p.doubts, none(p.adds, harness.Add))
	return p.judge(judgement{
		name: c.Name(), err: err, doubts: p.doubts, figures: p.ledger.figures(),
		valid: fmt.Sprintf("all of %d acknowledged writes are there", p.ledger.total.acknowledged),
	})
}

// writesPass is one pass over a history.
type writesPass struct {
	*tally
	ledger *ledger
	sets   map[string]*set
	adds   int
	doubts []string
}

// set is one key: what was written and what was read in the end.
type set struct {
	key    string
	writes []write    // in order of Return
	read   harness.Op // the last ok one of the harness; Kind empty: none
}

// write is one add, with what it takes to show it again.
type write struct {
	value          int64
	client         int
	call, returned time.Duration
	outcome        harness.Outcome
}

func (p *writesPass) op(x harness.Op) {
	switch {
	case x.Kind == harness.Add:
		p.adds++
		p.write(x)
	case x.Kind == harness.Read && x.Client == harness.HarnessClient && x.Outcome == harness.OK:
		p.set(x.Key).read = x
	}
}

func (p *writesPass) set(key string) *set {
	s := p.sets[key]
	if s == nil {
		s = &set{key: key}
		p.sets[key] = s
	}
	return s
}

func (p *writesPass) write(x harness.Op) {
	value, err := strconv.ParseInt(x.Arg, 10, 64)
	if err != nil {
		if len(p.doubts) == 0 {
			p.doubts = append(p.doubts, fmt.Sprintf("client %d added %q, which is no integer", x.Client, x.Arg))
		}
		return
	}
	s := p.set(x.Key)
	s.writes = append(s.writes, write{value, x.Client, x.Call, x.Return, x.Outcome})
}

// compare holds every set against its read, in order of key.
func (p *writesPass) compare() {
	var keys []string
	for key := range p.sets {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		s := p.sets[key]
		there, err := s.survivors()
		if err != nil {
			p.doubts = append(p.doubts, err.Error())
			p.ledger.unread(s)
			continue
		}
		p.refused(s, there)
		p.acknowledged(s, there)
	}
}

// guarded reports whether a lock guards the set, so that each write to it is the end of an update.
func (s *set) guarded() bool {
	_, ok := harness.GuardedBy(s.key)
	return ok
}

// survivors is what the final read found.
func (s *set) survivors() (intervals, error) {
	if s.read.Kind == "" {
		return nil, fmt.Errorf("no final read of %s was recorded", s.key)
	}
	there, err := parseIntervals(s.read.Result)
	if err != nil {
		return nil, fmt.Errorf("the final read of %s makes no sense: %w", s.key, err)
	}
	return there, nil
}

// refused reports every refused write that is there, unless it was also written without being refused.
func (p *writesPass) refused(s *set, there intervals) {
	phantoms := map[int64]write{}
	for _, w := range s.writes {
		if w.outcome == harness.Fail && there.has(w.value) {
			phantoms[w.value] = w
		}
	}
	if len(phantoms) > 0 {
		for _, w := range s.writes {
			if w.outcome != harness.Fail {
				delete(phantoms, w.value)
			}
		}
	}
	for _, w := range s.writes {
		if phantom, ok := phantoms[w.value]; ok && phantom == w {
			p.add(s.phantom(w))
		}
	}
}

func (s *set) phantom(w write) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.PhantomWrite, Key: s.key, From: w.call, To: w.returned,
		Ops:  []harness.Op{s.op(w)},
		Note: fmt.Sprintf("client %d was refused %d at %s, yet %s holds it in the end", w.client, w.value, moment(w.returned), s.key),
	}
}

// acknowledged books every other write, and reports the lost ones in runs.
func (p *writesPass) acknowledged(s *set, there intervals) {
	runs := map[int]*run{}
	var ended []*run
	for _, w := range s.writes {
		present := there.has(w.value)
		lost := w.outcome == harness.OK && !present && w.returned < s.read.Call
		p.ledger.book(w, present, lost)
		if w.outcome == harness.OK && s.guarded() {
			p.ledger.guarded.add(lost)
		}
		worker := p.meta.Worker(w.client)
		switch r := runs[worker]; {
		case lost && r == nil:
			runs[worker] = &run{worker: worker, first: w, last: w, n: 1}
			ended = append(ended, runs[worker])
		case lost:
			r.last = w
			r.n++
		case w.outcome == harness.OK:
			delete(runs, worker)
		}
	}
	for _, r := range ended {
		p.add(p.lost(s, r))
	}
}

// run is a run of lost writes of one worker.
type run struct {
	worker      int
	first, last write
	n           int
}

// lost is the anomaly of one run. A write is lost when a fault strikes after it, perhaps just after, so the time it spans
// reaches up to the start of the next fault if it meets none before.
func (p *writesPass) lost(s *set, r *run) harness.Anomaly {
	a := harness.Anomaly{
		Class: harness.LostWrite, Key: s.key, From: r.first.call, To: p.ledger.reach(r.first.call, r.last.returned),
		Ops:  []harness.Op{s.op(r.first)},
		Note: fmt.Sprintf("worker %d lost %d, acknowledged at %s", r.worker, r.first.value, moment(r.first.returned)),
	}
	if r.n > 1 {
		a.Count = r.n
		a.Ops = append(a.Ops, s.op(r.last))
		a.Note = fmt.Sprintf("worker %d lost %d acknowledged writes in a row, from %d at %s to %d at %s",
			r.worker, r.n, r.first.value, moment(r.first.returned), r.last.value, moment(r.last.returned))
	}
	return a
}

// op is w as it was recorded, but for the token of an owner.
func (s *set) op(w write) harness.Op {
	return harness.Op{
		Client: w.client, Kind: harness.Add, Key: s.key, Arg: strconv.FormatInt(w.value, 10),
		Call: w.call, Return: w.returned, Outcome: w.outcome,
	}
}
