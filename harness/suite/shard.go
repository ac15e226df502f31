package suite

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// part says to which whole suite a shard belongs, and which shard of it this is.
type part struct {
	recordShard
	fingerprint string // fingerprint of the whole suite
}

// Shard returns the part of a whole suite that one of several machines runs. Every repetition of every run is in
// exactly one shard. The longest repetitions are assigned first, each to the shard with the least work so far, so that
// all shards end at about the same time. The split depends on the suite and the number of shards alone. The error wraps
// plan.ErrUsage if the shard does not exist, or if there are more shards than repetitions.
func (s Suite) Shard(of tally.Shard) (Suite, error) {
	units := s.units()
	if of.Of > len(units) {
		return s, plan.Usagef("--shard %v: the suite has %d runs including repetitions: split it into at most %d "+
			"shards",
			of, len(units), len(units))
	}
	if of.Number < 1 || of.Number > of.Of {
		return s, plan.Usagef("--shard %v: choose a shard from 1/%d to %d/%d", of, of.Of, of.Of, of.Of)
	}
	p := part{recordShard: recordShard{Shard: of}}
	var err error
	if p.fingerprint, err = s.Fingerprint(); err != nil {
		return s, err
	}
	turns := make([][]int, len(s.Runs))
	for i, shard := range assignShards(units, of.Of) {
		if shard == of.Number {
			turns[units[i].run] = append(turns[units[i].run], units[i].turn)
		}
	}
	var mine []Entry
	for i, r := range s.Runs {
		p.Whole = append(p.Whole, recordWhole{r.Title, len(r.repetitions())})
		if r.turns = turns[i]; len(r.turns) > 0 {
			mine = append(mine, r)
		}
	}
	s.Runs, s.part = mine, &p
	return s, nil
}

// unit is one repetition of one run. It is never split.
type unit struct {
	run, turn int // index of the run in the suite, and index of the repetition
	takes     time.Duration
}

// units lists the repetitions of all runs, in the suite's order.
func (s Suite) units() (all []unit) {
	for i, r := range s.Runs {
		takes := r.estimate()
		for _, turn := range r.repetitions() {
			all = append(all, unit{i, turn, takes})
		}
	}
	return all
}

// assignShards assigns each unit to a shard, and returns the shards' numbers, from 1. It is Graham's rule for identical
// machines, longest first: the last shard ends at most a third later than in the best assignment.
func assignShards(units []unit, shards int) []int {
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(units[b].takes, units[a].takes) })
	type load struct {
		time  time.Duration
		count int
	}
	loads, number := make([]load, shards), make([]int, len(units))
	less := func(a, b load) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.count, b.count)) }
	for _, i := range order {
		idlest := 0
		for shard := range loads {
			if less(loads[shard], loads[idlest]) < 0 {
				idlest = shard
			}
		}
		loads[idlest].time += units[i].takes
		loads[idlest].count++
		number[i] = idlest + 1
	}
	return number
}

// repetitions lists the numbers, from 0, of the run's repetitions in a pass.
func (r Entry) repetitions() []int {
	if r.turns != nil {
		return r.turns
	}
	all := make([]int, max(1, r.Times))
	for i := range all {
		all[i] = i
	}
	return all
}
