package adapter

import (
	"context"
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

// directRoute leads the processes of a load to the nodes themselves. The relay would cost half of the harness's time.
type directRoute struct {
	to    func(redis.UniversalClient) string // as ConnectDirectly was given it; nil: all go by a relay
	tried bool
	heard bool // in the trial a command has come to the Redis that init names
}

// ConnectDirectly implements workloads.AdapterRunner. A node does not tell whose command has come to it. So before the
// first process connects directly, the program does one operation by a relay. If it fails there, its processes go by
// relays, which say what is wrong.
func (p *Runner) ConnectDirectly(to func(redis.UniversalClient) string) {
	p.trying.Lock()
	defer p.trying.Unlock()
	p.direct.to = to
}

// directTo returns the addresses of the nodes that the Redis clients lead to. It returns nil if their processes are to
// go by relays.
func (p *Runner) directTo(masters []redis.UniversalClient) (to endpoints) {
	p.trying.Lock()
	defer p.trying.Unlock()
	s := &p.direct
	if s.to == nil {
		return nil
	}
	for _, r := range masters {
		address := s.to(r)
		if address == "" {
			return nil
		}
		to = append(to, endpoint{address: address})
	}
	if !s.tried {
		s.tried = true
		_, err := p.try(context.Background(), masters, func(string, error) {}, (*trial).askOnce)
		s.heard = err == nil
	}
	if !s.heard {
		return nil
	}
	return to
}
