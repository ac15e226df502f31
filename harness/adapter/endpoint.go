package adapter

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// endpoint is an address by which processes reach a master.
type endpoint struct {
	address string
	relay   *relay // the relay that listens at address; nil: the master itself listens there
}

// endpoints holds an endpoint for each master of a group.
type endpoints []endpoint

// relaysTo opens a relay for each Redis client. If inTrial is true, the relays note whether a program subscribes or
// sends WAIT.
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

// init returns the first request to a process under load or in a trial. It names the addresses of Redis.
func (to endpoints) init() request {
	r := request{Redis: urlOf(to[0].address), Timeout: timeout.Milliseconds()}
	if len(to) > 1 {
		for _, w := range to {
			r.Masters = append(r.Masters, urlOf(w.address))
		}
	}
	return r
}

// heard counts the relays through which a program has sent something.
func (to endpoints) heard() (count int) {
	for _, w := range to {
		if w.relay != nil && w.relay.heard.Load() {
			count++
		}
	}
	return count
}

// awaited reports whether the program has sent WAIT or WAITAOF. Only the relays of a trial notice that; without a trial
// it returns false.
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

// directRoute says whether the processes of a load connect to the nodes themselves, without relays. Relays would take
// half of the harness's processor time.
type directRoute struct {
	to    func(redis.UniversalClient) string // the argument of ConnectDirectly; nil: processes use relays
	tried bool                               // the program was tried once through relays: see ConnectDirectly
	heard bool                               // in the try, commands came to the Redis that the program was told to use
}

// ConnectDirectly implements workloads.AdapterRunner. Nobody sees the commands on a direct connection, so the program
// could use another Redis unnoticed. Therefore the program first does one operation through relays. If that operation
// fails, all processes use relays, whose errors say what is wrong.
func (p *Runner) ConnectDirectly(to func(redis.UniversalClient) string) {
	p.trying.Lock()
	defer p.trying.Unlock()
	p.direct.to = to
}

// directTo returns the addresses of the nodes to which the Redis clients lead, or nil if processes have to use relays.
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
		_, _, err := p.try(context.Background(), masters, func(string, error) {}, (*trial).askOnce)
		s.heard = err == nil
	}
	if !s.heard {
		return nil
	}
	return to
}
