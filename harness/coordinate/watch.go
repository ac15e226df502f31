package coordinate

import (
	"sync"
	"time"
)

// Work holds the names and expected times of the units that were put into a queue, so that progress can be shown. The
// zero value is ready.
type Work struct {
	mu    sync.Mutex
	names map[string]string // names of units, by ID
	takes time.Duration     // expected time of all units on one worker
}

// add adds a unit and its expected time (0: unknown), unless a unit with this id was added before.
func (w *Work) add(id, name string, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names == nil {
		w.names = map[string]string{}
	}
	if _, there := w.names[id]; !there {
		w.names[id] = name
		w.takes += takes
	}
}

// Name returns the name of the unit, or the word "unit" with the start of the id if the unit is unknown.
func (w *Work) Name(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, there := w.names[id]; there {
		return name
	}
	return "unit " + id[:min(8, len(id))]
}

// Size returns the number of units that were added, and roughly how long one worker needs for all of them; 0: unknown.
func (w *Work) Size() (units int, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.names), w.takes
}
