package generators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	clockEvery = 100 * time.Millisecond // between two exchanges of clock readings
	clockFirst = 10                     // exchanges before the load begins
	boundEvery = time.Second            // between two events that tell how well a clock is known
	openWithin = time.Minute            // the clients of a share
	leaveFor   = 3 * time.Second        // how long a generator is told that the run is over
)

// member is one generator, as the coordinator sees it.
type member struct {
	team   *Team
	name   string // of its own
	place  place
	orders atomic.Int64

	ctx    context.Context // ends when the generator is lost, or has left
	cancel context.CancelCauseFunc
	alive  sync.WaitGroup

	mu     sync.Mutex
	feed   *harness.Feed // nil: there is no load
	bounds Bounds
	widest time.Duration // bound of an operation's time since the last event that told it
	told   time.Duration // when that was
	record int           // number of the last that was taken
	latest time.Duration // the latest Return so far, on our clock
	mark   time.Duration
	ended  chan error // takes the end of the load
}

func newMember(t *Team, name string, number int) *member {
	m := &member{team: t, name: name, place: place{t.nonce, number}, ended: make(chan error, 1)}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	m.alive.Go(m.watch)
	return m
}

// Name returns the generator's name in errors and events.
func (m *member) Name() string { return fmt.Sprintf("generator %d", m.place.Number) }

func (m *member) number() int { return int(m.orders.Add(1)) }

// ask has the generator carry an order out.
func (m *member) ask(ctx context.Context, o order) (done, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.ctx, func() { cancel(context.Cause(m.ctx)) })()
	return m.askAs(ctx, m.number(), o)
}

// askAs asks until there is an answer. The generator carries an order of one number out once.
func (m *member) askAs(ctx context.Context, number int, o order) (d done, err error) {
	o.Number = number
	// what takes longer than one attempt is answered to a later one
	answer, err := keepAsking(ctx, m.team.post, m.place.do(), encode(o))
	if err != nil {
		return d, context.Cause(ctx)
	}
	if err = json.Unmarshal(answer, &d); err == nil {
		err = d.err()
	}
	return d, err
}

// watch asks for the time until the generator has left. One that does not answer for lostAfter is lost.
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
			m.cancel(fmt.Errorf("%w for %v: what its clients did last is not known", ErrLost, lostAfter))
			return
		}
	}
}

// exchange asks for the time once.
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

// distrust ends the load: what this generator records, and has recorded, proves nothing.
func (m *member) distrust(err error) {
	m.mu.Lock()
	feed := m.feed
	m.mu.Unlock()
	feed.Event(harness.Event{At: feed.Now(), Node: m.Name(), Kind: harness.EventClockUntrusted, Detail: err.Error()})
	m.cancel(err)
}

// Open opens the clients of a share.
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

// Load lets the clients step until stop is closed.
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
	if _, err := m.ask(ctx, order{Do: doBegin, Ahead: m.ahead()}); err != nil {
		return err
	}
	select {
	case <-stop:
		if _, err := m.ask(ctx, order{Do: doStop}); err != nil {
			return err
		}
	case err := <-m.ended:
		if err == nil {
			err = errors.New("it says not why")
		}
		return fmt.Errorf("its load ended before its time: %w", err)
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

// ahead returns by about how much our clock is ahead of theirs.
func (m *member) ahead() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bounds.Ahead()
}

// takeRecord takes what the generator brings, each record once.
func (m *member) takeRecord(message []byte, reply func([]byte)) {
	r, err := unpackRecord(message)
	if err == nil {
		err = m.take(r)
	}
	if err != nil {
		reply(encode(taken{err.Error()}))
		m.end(err)
		return
	}
	reply(encode(taken{}))
	if r.Over {
		if r.Error != "" {
			err = errors.New(r.Error)
		}
		m.end(err)
	}
}

// end says how the load ended, the first time.
func (m *member) end(err error) {
	select {
	case m.ended <- err:
	default:
	}
}

// take hands a record to the feed, with its times on our clock.
func (m *member) take(r record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Number <= m.record {
		return nil // it came before, and the answer was lost
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
	m.tellBound(r.Over)
	return m.feed.Take(r.ops, m.mark)
}

// widen sets an operation's times on our clock: the earliest Call and the latest Return. What a variant promised of its
// lease ends as early as it can. Operations keep their order, so a Return may become later still.
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

// tellBound records how well the clock was known, once a second, and in the end.
func (m *member) tellBound(over bool) {
	now := m.feed.Now()
	if m.widest == 0 || !over && now-m.told < boundEvery && m.told > 0 {
		return
	}
	m.feed.Event(harness.Event{At: now, Node: m.Name(), Kind: harness.EventClockBound, Detail: m.widest.String()})
	m.told, m.widest = now, 0
}

// isGone reports whether nobody is there who could be told anything.
func (m *member) isGone() bool {
	cause := context.Cause(m.ctx)
	_, gone := errors.AsType[Gone](cause)
	return gone || errors.Is(cause, ErrLost)
}

// leave tells the generator that the run is over.
func (m *member) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveFor)
	defer cancel()
	if !m.isGone() {
		// one that does not hear it notices that nobody asks for the time
		_, _ = m.askAs(ctx, m.number(), order{Do: doLeave})
	}
	m.cancel(errors.New("the run is over"))
	m.alive.Wait()
}
