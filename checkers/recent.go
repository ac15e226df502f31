package checkers

import "github.com/doublegrant/doublegrant/harness"

// recentKept bounds the draws that are kept whole, over all keys together. Each takes about 180 bytes.
const recentKept = 1 << 13

// recent keeps the latest draws whole, as evidence, in two generations. Of older draws only the numbers are kept.
type recent struct{ young, old generation }

// recentChunk is the number of draws that are allocated at a time. A single slice that grows would leave twice its size
// behind as garbage.
const recentChunk = 512

// generation holds up to half of the draws that are kept whole.
type generation struct {
	n     int
	draws [][]draw // the draws in chunks, of which the last may be partly full
	at    map[value]int32
}

// value is one number of one key.
type value struct {
	numbers *numbers // the set of those numbers of the key that share all but the last 19 digits
	tail    uint64   // value of the last 19 digits
}

// draw is one ok call that returned a number.
type draw struct {
	harness.Op
	value
	ordinal int // place among the draws of its key, from 1
}

// find returns the draw of the number n, if it is among the latest draws.
func (r *recent) find(n value) (*draw, bool) {
	for _, g := range [...]*generation{&r.young, &r.old} {
		if i, ok := g.at[n]; ok {
			return &g.draws[i/recentChunk][i%recentChunk], true
		}
	}
	return nil, false
}

// add keeps d as the latest draw. The caller has checked that no draw of the same number is kept.
func (r *recent) add(d draw) {
	g := &r.young
	if g.at == nil {
		g.at = map[value]int32{}
	}
	chunk := g.n / recentChunk
	if chunk == len(g.draws) {
		g.draws = append(g.draws, make([]draw, 0, min(recentChunk, 4+g.n)))
	}
	g.draws[chunk] = append(g.draws[chunk], d)
	g.at[d.value] = int32(g.n)
	if g.n++; g.n == recentKept/2 {
		r.old.empty()
		r.young, r.old = r.old, r.young
	}
}

// empty removes the draws from g. It adds their numbers to the sets of numbers, which are kept longer than the draws.
func (g *generation) empty() {
	for i, chunk := range g.draws {
		for _, d := range chunk {
			d.numbers.add(d.tail)
		}
		clear(chunk)
		g.draws[i] = chunk[:0]
	}
	clear(g.at)
	g.n = 0
}
