package adapter

import (
	"slices"

	"github.com/redis/go-redis/v9"
)

// endpoint is an address that processes are given, and that leads to a master.
type endpoint struct {
	address string
	relay   *relay // whose address it is; nil: the address is a node's own
}

// endpoints lead to all masters of a group.
type endpoints []endpoint

// relaysTo opens a relay for each Redis client. tries says that a program is tried there.
func relaysTo(masters []redis.UniversalClient, tries bool) (to endpoints, err error) {
	for _, r := range masters {
		y, err := newRelay(r, tries)
		if err != nil {
			to.close()
			return nil, err
		}
		to = append(to, endpoint{y.address(), y})
	}
	return to, nil
}

// init returns the request with which a process begins, under load or in a trial.
func (to endpoints) init() request {
	r := request{Redis: urlOf(to[0].address), Timeout: timeout.Milliseconds()}
	if len(to) > 1 {
		for _, w := range to {
			r.Masters = append(r.Masters, urlOf(w.address))
		}
	}
	return r
}

// heard counts the relays to which a program has sent something.
func (to endpoints) heard() (count int) {
	for _, w := range to {
		if w.relay != nil && w.relay.heard.Load() {
			count++
		}
	}
	return count
}

// awaited reports whether a program that is tried has waited for replicas.
func (to endpoints) awaited() bool {
	return slices.ContainsFunc(to, func(w endpoint) bool { return w.relay != nil && w.relay.awaits.Load() })
}

// cut closes every connection of the relays.
func (to endpoints) cut() {
	for _, w := range to {
		if w.relay != nil {
			w.relay.cut()
		}
	}
}

func (to endpoints) close() {
	for _, w := range to {
		if w.relay != nil {
			w.relay.close()
		}
	}
}
