package outside

import (
	"slices"

	"github.com/redis/go-redis/v9"
)

// way is an address that is given to processes, and leads to a master.
type way struct {
	address string
	relay   *relay // whose address it is; nil: the address is a node's own
}

// ways lead to all masters of a group.
type ways []way

// relaysTo opens a relay for each Redis client; tries: to look at what programs send.
func relaysTo(masters []redis.UniversalClient, tries bool) (to ways, err error) {
	for _, r := range masters {
		y, err := newRelay(r, tries)
		if err != nil {
			to.close()
			return nil, err
		}
		to = append(to, way{y.address(), y})
	}
	return to, nil
}

// init returns what a process is told when it begins, under load or in a trial.
func (to ways) init() request {
	r := request{Redis: urlOf(to[0].address), Timeout: timeout.Milliseconds()}
	if len(to) > 1 {
		for _, w := range to {
			r.Masters = append(r.Masters, urlOf(w.address))
		}
	}
	return r
}

// heard counts the relays to which something has come.
func (to ways) heard() (count int) {
	for _, w := range to {
		if w.relay != nil && w.relay.heard.Load() {
			count++
		}
	}
	return count
}

// awaited reports whether a program that is tried has waited for replicas.
func (to ways) awaited() bool {
	return slices.ContainsFunc(to, func(w way) bool { return w.relay != nil && w.relay.awaits.Load() })
}

// cut closes every connection of the relays.
func (to ways) cut() {
	for _, w := range to {
		if w.relay != nil {
			w.relay.cut()
		}
	}
}

func (to ways) close() {
	for _, w := range to {
		if w.relay != nil {
			w.relay.close()
		}
	}
}
