package outside

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// straight leads the processes of a load to the nodes themselves, past the relay, which costs half of the harness's time.
type straight struct {
	to    func(redis.UniversalClient) string // as Lead was given it; nil: all go by a relay
	tried bool
	heard bool // in the trial a command has come to the Redis that init names
}

// Lead implements workloads.Outside. A node does not tell whose command has come to it, so before the first process goes straight the
// program does one operation by a relay. A program that fails there goes by relays, which tell what is wrong.
func (p *Program) Lead(to func(redis.UniversalClient) string) {
	p.trying.Lock()
	defer p.trying.Unlock()
	p.straight.to = to
}

// straightTo returns the addresses of the nodes where Redis clients lead; nil if their processes are to go by relays.
func (p *Program) straightTo(masters []redis.UniversalClient) (to ways) {
	p.trying.Lock()
	defer p.trying.Unlock()
	s := &p.straight
	if s.to == nil {
		return nil
	}
	for _, r := range masters {
		address := s.to(r)
		if address == "" {
			return nil
		}
		to = append(to, way{address: address})
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
