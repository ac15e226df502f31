package coordinate

import (
	"sync"
	"time"
)

// Work is what a coordination has put: the names of its units, for those who watch it. The zero value is usable.
type Work struct {
	mu    sync.Mutex
	names map[string]string // by ID
	takes time.Duration     // of all, one after the other
}

// add adds a unit that takes about so long; 0: nobody knows.
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

// Name returns the name of a unit, by its ID.
func (w *Work) Name(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, there := w.names[id]; there {
		return name
	}
	return "unit " + id[:min(8, len(id))]
}

// Size returns how many units there are so far, and how long one worker takes for all of them, about; 0: nobody knows.
func (w *Work) Size() (units int, takes time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.names), w.takes
}
