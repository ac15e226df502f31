package coordinate

import (
	"sync"
	"time"
)

// Work is what a coordination has put and awaits: the names of its units, for those who watch it. The zero value is usable.
type Work struct {
	mu    sync.Mutex
	units map[string]namedUnit
	left  int
	takes time.Duration // of what is left, one after the other
}

// namedUnit is a unit as people know it.
type namedUnit struct {
	name  string
	takes time.Duration // about; 0: nobody knows
	done  bool
}

func (w *Work) add(id, name string, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.units == nil {
		w.units = map[string]namedUnit{}
	}
	if _, there := w.units[id]; !there {
		w.units[id] = namedUnit{name: name, takes: takes}
		w.left, w.takes = w.left+1, w.takes+takes
	}
}

func (w *Work) done(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.units[id]; !u.done {
		u.done = true
		w.units[id] = u
		w.left, w.takes = w.left-1, w.takes-u.takes
	}
}

// Name returns the name of a unit, by its ID.
func (w *Work) Name(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, there := w.units[id]; there {
		return u.name
	}
	return "unit " + id[:min(8, len(id))]
}

// Left returns how many units are not done, how many there are, and how long one worker takes for the rest, about; 0: nobody knows.
func (w *Work) Left() (left, of int, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left, len(w.units), w.takes
}
