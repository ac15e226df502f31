package explore

import (
	"slices"
	"strings"
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

// watchKeys watches keys by connections of the explorer's own, one for each.
func (w *world) watchKeys(keys []string) error {
	for len(w.witnesses) < len(keys) {
		to, err := dialWire(w.sockets[w.primary])
		if err != nil {
			return err
		}
		w.witnesses = append(w.witnesses, to)
	}
	for i, k := range keys {
		if _, err := w.witnesses[i].ask(request("WATCH", k), 1); err != nil {
			return err
		}
	}
	return nil
}

// touchedKeys lists the keys that were written to since watchKeys, by the answer of EXEC.
func (w *world) touchedKeys(keys []string) (touched []string, err error) {
	for i, k := range keys {
		reply, err := w.witnesses[i].ask(slices.Concat(request("MULTI"), request("EXEC")), 2)
		if err != nil {
			return nil, err
		}
		_, size := line(reply)
		if strings.HasPrefix(string(reply[size:]), "*-1") {
			touched = append(touched, k)
		}
	}
	return touched, nil
}

// closeWitnesses closes the connections of watchKeys: the next ones lead to another primary.
func (w *world) closeWitnesses() {
	for _, to := range w.witnesses {
		to.close()
	}
	w.witnesses = nil
}
