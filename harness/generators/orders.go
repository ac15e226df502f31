package generators

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file carries out the coordinator's orders in a generator.

// answerTime replies with the current time of the generator's clock.
func (s *server) answerTime(_ []byte, reply func([]byte)) {
	reply(encode(s.clock.Now()))
	s.noteContact()
}

// handleOrder carries out an order and then replies. If the coordinator repeats an order, each message gets the same
// reply, and the order is carried out once.
func (s *server) handleOrder(message []byte, reply func([]byte)) {
	var o order
	if err := json.Unmarshal(message, &o); err != nil {
		reply(encode(orderReply{Error: err.Error()}))
		return
	}
	s.noteContact()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.orders[o.Number]
	if c == nil && s.closed {
		return // this generator has left: nobody waits for an answer
	}
	if c == nil {
		c = &orderState{finished: make(chan struct{})}
		s.orders[o.Number] = c
		s.working.Go(func() {
			d, err := s.execute(o, c)
			if err != nil {
				d.Error, d.Kind = err.Error(), kindOf(err)
			}
			c.reply = encode(d)
			close(c.finished)
		})
	}
	go func() {
		select {
		case <-c.finished:
			reply(c.reply)
		case <-s.ctx.Done():
		}
		if o.Do == doLeave {
			s.closeRunOver.Do(func() { close(s.runOver) })
		}
	}()
}

func (s *server) execute(o order, c *orderState) (d orderReply, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, max(o.For, askFor))
	defer cancel()
	s.mu.Lock()
	var links harness.LinkControl
	if s.setup != nil {
		links = s.setup.Links
	}
	s.mu.Unlock()
	if links != nil {
		switch o.Do {
		case doImpair:
			c.heal, err = links.Impair(o.Links, o.Fault)
			return d, err
		case doHeal:
			return d, s.heal(o.Heals)
		case doTouched:
			d.Touched = links.Touched(o.Link)
			return d, nil
		case doConnections:
			d.Connections = links.Connections(o.Link.To)
			return d, nil
		case doProbe:
			return d, links.Probe(ctx, o.Link.From, o.Link.To)
		case doEcho:
			return d, links.Echo(ctx, o.Link.From, o.Link.To, o.Size)
		case doHangup:
			return d, links.Hangup(ctx, o.Link.From, o.Link.To)
		}
	}
	switch o.Do {
	case doOpen:
		return d, s.open(ctx, o)
	case doBegin:
		s.ahead.Store(int64(o.Ahead))
		return d, s.begin()
	case doStop, doLeave:
		s.endLoad()
		return d, nil
	}
	return d, fmt.Errorf("%q is impossible now", o.Do)
}

// open builds the setup of the run and opens this generator's clients.
func (s *server) open(ctx context.Context, o order) error {
	setup, err := s.Build(ctx, Assignment{
		Task: o.Task, Number: s.place.Number, Share: o.Share, Clock: s.clock, Events: s.event, Fail: s.cancel,
		Ahead: func() time.Duration { return time.Duration(s.ahead.Load()) },
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.setup = &setup
	s.mu.Unlock()
	spec := setup.Load
	spec.Share, spec.Clock, spec.Record = o.Share, s.clock, s.sendOps
	load, err := harness.OpenShare(ctx, spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load = load
	return err
}

func (s *server) heal(number int) error {
	s.mu.Lock()
	impairing := s.orders[number]
	s.mu.Unlock()
	if impairing == nil {
		return nil // the order to impair never came
	}
	if <-impairing.finished; impairing.heal == nil { // it may still be under way
		return nil
	}
	return impairing.heal()
}
