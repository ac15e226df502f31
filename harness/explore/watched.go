package explore

import (
	"slices"
)

// This file follows the keys that clients watch.

// watchedKey is a key that a client watches.
type watchedKey struct {
	name    string
	there   bool // it was there when the client began to watch it
	touched bool // it was written to since
}

func noteTouched(watched []watchedKey, keys []string) {
	for i := range watched {
		watched[i].touched = watched[i].touched || slices.Contains(keys, watched[i].name)
	}
}

// isWatching reports whether anybody watches keys.
func (ex *execution) isWatching() bool {
	for _, a := range ex.actors {
		if len(a.watched) > 0 {
			return true
		}
	}
	for _, l := range ex.lateCommands {
		if len(l.watched) > 0 && !l.arrived {
			return true
		}
	}
	return false
}
