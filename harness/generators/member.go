package generators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	clockEvery = 100 * time.Millisecond // time between two exchanges of clock readings
	clockFirst = 10                     // number of exchanges before the load begins
	boundEvery = time.Second            // time between two events that tell the uncertainty of a clock
	openWithin = time.Minute            // timeout for opening the clients of a share
	leaveFor   = 3 * time.Second        // timeout for telling a generator that the run is over
)

// member is one generator as the coordinator sees it.
type member struct {
	team  *Team
	name  string
	place place

	ctx    context.Context // ends when the generator is lost, or has left
	cancel context.CancelCauseFunc
	alive  sync.WaitGroup

	mu            sync.Mutex
	feed          *harness.Feed // nil: there is no load
	bounds        Bounds
	widest        time.Duration // largest uncertainty of an operation's time since boundReported
	boundReported time.Duration // when reportBound last recorded an event
	record        int           // number of the last record that was taken
	latest        time.Duration // the latest Return so far, on our clock
	mark          time.Duration
	ended         chan error // receives the load's error, or nil, when the load ends
}

func newMember(t *Team, name string, number int) *member {
	m := &member{team: t, name: name, place: place{t.nonce, number}, ended: make(chan error, 1)}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	m.alive.Go(m.watch)
	return m
}

// Name returns the generator's name in errors and events.
func (m *member) Name() string { return fmt.Sprintf("generator %d", m.place.Number) }

// ask sends the generator an order and waits until the generator has carried it out. It fails at once if the generator
// is lost.
func (m *member) ask(ctx context.Context, o order) (orderReply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })()
	return m.keepAsking(ctx, o)
}

// keepAsking repeats an order until there is an answer or ctx ends. An order whose Number is 0 gets the team's next
// number.
func (m *member) keepAsking(ctx context.Context, o order) (d orderReply, err error) {
	if o.Number == 0 {
		o.Number = m.team.nextOrder()
	}
	// if the order takes longer than one attempt, a later attempt gets the answer
	answer, err := keepAsking(ctx, m.team.post, m.place.do(), encode(o))
	if err != nil {
		return d, context.Cause(ctx)
	}
	if err = json.Unmarshal(answer, &d); err == nil {
		err = d.err()
	}
	return d, err
}

// watch reads the generator's clock again and again, until the generator has left. A generator that does not answer for
// lostAfter counts as lost. A clock that cannot be trusted ends the load.
func (m *member) watch() {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	heard := time.Now()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		}
		switch err := m.exchange(); {
		case err == nil:
			heard = time.Now()
		case errors.Is(err, ErrClock):
			m.distrust(err)
			return
		case time.Since(heard) > lostAfter:
			m.cancel(fmt.Errorf("%w for %v: the last operations of its clients are unknown", ErrLost, lostAfter))
			return
		}
	}
}

// exchange reads the generator's clock once. During a load it adds the reading to the bounds. Before the load it only
// checks that the generator answers.
func (m *member) exchange() error {
	m.mu.Lock()
	feed := m.feed
	m.mu.Unlock()
	ctx, cancel := context.WithTimeout(m.ctx, askFor)
	defer cancel()
	var asked, theirs, answered time.Duration
	if feed != nil {
		asked = feed.Now()
	}
	answer, err := m.team.post.Ask(ctx, m.place.clock(), nil)
	if feed == nil || err != nil {
		return err
	}
	answered = feed.Now()
	if err := json.Unmarshal(answer, &theirs); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bounds.Add(asked, theirs, answered)
}

// distrust ends the load, since the generator's clock cannot be trusted and its recorded times prove nothing.
func (m *member) distrust(err error) {
	m.mu.Lock()
	feed := m.feed
	m.mu.Unlock()
	feed.Event(harness.Event{At: feed.Now(), Node: m.Name(), Kind: harness.EventClockUntrusted, Detail: err.Error()})
	m.cancel(err)
}

// Open makes the generator open the clients of its share.
func (m *member) Open(ctx context.Context, share harness.Share) error {
	task, err := m.team.taskOnce(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	_, err = m.ask(ctx, order{Do: doOpen, Share: share, Task: task, For: openWithin})
	return err
}

// Load makes the generator run its clients until the given channel is closed. What the clients record goes to the feed.
func (m *member) Load(ctx context.Context, stop <-chan struct{}, feed *harness.Feed) error {
	m.mu.Lock()
	m.feed = feed
	m.mu.Unlock()
	for n := 0; n < clockFirst && m.ctx.Err() == nil && ctx.Err() == nil; {
		switch err := m.exchange(); {
		case errors.Is(err, ErrClock):
			m.distrust(err)
		case err == nil:
			n++
		}
	}
	unanswer, err := m.team.post.Answer(m.place.record(), m.takeRecord)
	if err != nil {
		return err
	}
	defer unanswer()
	m.mu.Lock()
	ahead := m.bounds.Ahead()
	m.mu.Unlock()
	if _, err := m.ask(ctx, order{Do: doBegin, Ahead: ahead}); err != nil {
		return err
	}
	select {
	case <-stop:
		if _, err := m.ask(ctx, order{Do: doStop}); err != nil {
			return err
		}
	case err := <-m.ended:
		if err == nil {
			err = errors.New("no reason given")
		}
		return fmt.Errorf("its load ended early: %w", err)
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-m.ended:
		return err
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	case <-ctx.Done():
		return fmt.Errorf("its clients did not end: %w", context.Cause(ctx))
	}
}

// takeRecord takes a record from the generator and acknowledges it. If a record comes again, it is only acknowledged.
func (m *member) takeRecord(message []byte, reply func([]byte)) {
	r, err := unpackRecord(message)
	if err == nil {
		err = m.take(r)
	}
	if err != nil {
		reply(encode(recordAck{err.Error()}))
		m.end(err)
		return
	}
	reply(encode(recordAck{}))
	if r.Over {
		if r.Error != "" {
			err = errors.New(r.Error)
		}
		m.end(err)
	}
}

// end tells Load how the generator's load has ended; nil: without an error. Only the first call counts.
func (m *member) end(err error) {
	select {
	case m.ended <- err:
	default:
	}
}

// take passes a record to the feed, with all times converted to our clock. It ignores a record that it has taken
// before.
func (m *member) take(r record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Number <= m.record {
		return nil // it is a repetition: the answer was lost
	}
	if r.Number > m.record+1 {
		return fmt.Errorf("record %d comes after record %d", r.Number, m.record)
	}
	m.record = r.Number
	for _, e := range r.Events {
		e.At = max(0, m.bounds.Latest(e.At))
		m.feed.Event(e)
	}
	for i := range r.ops {
		m.widen(&r.ops[i])
	}
	m.mark = max(m.mark, m.bounds.Earliest(r.Mark))
	m.reportBound(r.Over)
	return m.feed.Record(r.ops, m.mark)
}

// widen converts an operation's times to our clock: Call and Until to the earliest possible time, Return to the latest.
// Operations have to stay in order of Return, so Return becomes at least the Return of the previous operation.
func (m *member) widen(op *harness.Op) {
	call, answered := m.bounds.Earliest(op.Call), m.bounds.Latest(op.Return)
	m.widest = max(m.widest, m.bounds.Latest(op.Call)-call, answered-m.bounds.Earliest(op.Return))
	m.latest = max(m.latest, m.mark, answered)
	op.Call, op.Return = max(0, call), m.latest
	if op.Until > 0 {
		op.Until = max(1, m.bounds.Earliest(op.Until))
	}
	if op.Due > 0 {
		op.Due = max(1, (m.bounds.Earliest(op.Due)+m.bounds.Latest(op.Due))/2)
	}
}

// reportBound records the uncertainty of the clock, at most once a second. The parameter over says that the last record
// has come. In that case the uncertainty is recorded at once.
func (m *member) reportBound(over bool) {
	now := m.feed.Now()
	if m.widest == 0 || !over && now-m.boundReported < boundEvery && m.boundReported > 0 {
		return
	}
	m.feed.Event(harness.Event{At: now, Node: m.Name(), Kind: harness.EventClockBound, Detail: m.widest.String()})
	m.boundReported, m.widest = now, 0
}

func (m *member) dismiss() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveFor)
	defer cancel()
	cause := context.Cause(m.ctx)
	if _, gone := errors.AsType[EndedError](cause); !gone && !errors.Is(cause, ErrLost) {
		// a generator that does not get this notices that it is no longer asked for the time
		_, _ = m.keepAsking(ctx, order{Do: doLeave})
	}
	m.cancel(errors.New("the run is over"))
	m.alive.Wait()
}
