package adapter

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// endpoint is the address by which processes reach a master.
type endpoint struct {
	address string
	relay   *relay // the relay that listens there; nil: the node itself does
}

// endpoints holds an endpoint for each master of a group.
type endpoints []endpoint

// relaysTo opens a relay for each Redis client. In a trial, the relays look at what programs send.
func relaysTo(masters []redis.UniversalClient, inTrial bool) (to endpoints, err error) {
	for _, r := range masters {
		y, err := newRelay(r, inTrial)
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

// awaited reports whether, in a trial, the program has waited for replicas.
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

// directRoute says whether the processes of a load connect to the nodes themselves. Relays would take half of the
// harness's processor time.
type directRoute struct {
	to    func(redis.UniversalClient) string // the argument of ConnectDirectly; nil: processes use relays
	tried bool                               // the trial is over
	heard bool                               // in the trial a command has come to the Redis that init names
}

// ConnectDirectly implements workloads.AdapterRunner. A node does not tell which program a command comes from. So
// before the first process connects directly, the program does one operation through a relay. If that fails, all
// processes use relays, which say what is wrong.
func (p *Runner) ConnectDirectly(to func(redis.UniversalClient) string) {
	p.trying.Lock()
	defer p.trying.Unlock()
	p.direct.to = to
}

// directTo returns the addresses of the nodes that the Redis clients lead to. It returns nil if processes have to use
// relays.
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
