package adapter

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// directRoute leads the processes of a load to the nodes themselves. The relay would cost half of the harness's time.
type directRoute struct {
	to    func(redis.UniversalClient) string // as Lead was given it; nil: all go by a relay
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
