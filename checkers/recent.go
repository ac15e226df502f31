package checkers

import "github.com/doublegrant/doublegrant/harness"

// recentKept is how many draws are kept whole, over all keys together: about 180 bytes each.
const recentKept = 1 << 16

// recent keeps the latest draws, to show them again. The rest of a run is known by its numbers alone.
type recent struct {
	draws []draw // a ring, once it is full
	next  int    // the oldest of a full ring
	at    map[value]int32
}

// value is one number of one key.
type value struct {
	numbers *numbers
	tail    uint64
}

// draw is one ok call that returned a number.
type draw struct {
	harness.Op
	value
	ordinal int // among those of its key, from 1
}

// find returns the draw of a number, if it is among the latest.
func (r *recent) find(n value) (*draw, bool) {
	i, ok := r.at[n]
	if !ok {
		return nil, false
	}
	return &r.draws[i], true
}

// add keeps d, whose number is not among the latest, in place of the oldest, of which the number remains.
func (r *recent) add(d draw) {
	if r.at == nil {
		r.at, r.draws = map[value]int32{}, make([]draw, 0, 4)
	}
	if len(r.draws) < recentKept {
		r.at[d.value] = int32(len(r.draws))
		r.draws = append(r.draws, d)
		return
	}
	old := &r.draws[r.next]
	delete(r.at, old.value)
	old.numbers.add(old.tail)
	*old = d
	r.at[d.value] = int32(r.next)
	r.next = (r.next + 1) % recentKept
}
