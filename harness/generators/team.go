package generators

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Team is the coordinator's view of its generators.
type Team struct {
	post  Post
	nonce string // unique id of the team
	task  func(context.Context) ([]byte, error)

	orders atomic.Int64 // number of the latest order

	taskMu     sync.Mutex // held while the task is made
	cachedTask []byte     // nil: the task is not made yet

	mu       sync.Mutex
	members  []*member     // in order of their numbers; an element is nil until that member has joined
	complete bool          // all generators have joined
	all      chan struct{} // closed when the last generator has joined
	joined   func(name string, number int)
	closing  func() // stops answering generators that ask to join
	over     context.Context
	end      context.CancelFunc
}

// Options says what a team consists of.
type Options struct {
	Generators int // number of generators to wait for

	// Task returns the task that every Generator.Build gets. It is called when the first clients open. After an error it
	// is called again.
	Task func(context.Context) ([]byte, error)

	Joined func(name string, number int) // called for each generator that joins; may be nil
	Lost   <-chan EndedError             // receives generators that end before the run is over; may be nil
}

// EndedError is the error of a generator that has ended before the run was over.
type EndedError struct {
	Name string // name of the generator
	Why  error
}

func (g EndedError) Error() string { return g.Why.Error() }

// Unwrap returns why the generator has ended.
func (g EndedError) Unwrap() error { return g.Why }

// Gather waits until o.Generators generators have joined, and returns their team.
func Gather(ctx context.Context, post Post, o Options) (*Team, error) {
	t := &Team{
		post: post, nonce: rand.Text(), task: o.Task, members: make([]*member, o.Generators), all: make(chan struct{}),
		joined: o.Joined,
	}
	var err error
	if t.closing, err = post.Answer(subjectJoin, t.admit); err != nil {
		return nil, err
	}
	t.over, t.end = context.WithCancel(context.Background())
	select {
	case <-t.all:
		go t.watch(o.Lost)
		return t, nil
	case gone := <-o.Lost:
		t.markLost(gone)
		err = gone
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	t.Close()
	return nil, err
}

// watch calls markLost for each generator that comes through the given channel, until the run is over.
func (t *Team) watch(lost <-chan EndedError) {
	for {
		select {
		case gone := <-lost:
			t.markLost(gone)
		case <-t.over.Done():
			return
		}
	}
}

// taskOnce returns the task of the run. The first call makes the task. If that fails, the next call tries again.
func (t *Team) taskOnce(ctx context.Context) ([]byte, error) {
	t.taskMu.Lock()
	defer t.taskMu.Unlock()
	if t.cachedTask != nil {
		return t.cachedTask, nil
	}
	made, err := t.task(ctx)
	if err == nil {
		t.cachedTask = made
	}
	return made, err
}

// admit answers a generator that asks to join.
func (t *Team) admit(message []byte, reply func([]byte)) {
	var h hello
	if err := json.Unmarshal(message, &h); err != nil {
		reply(encode(welcome{Refused: err.Error()}))
		return
	}
	number, refused, isNew := t.assignPlace(h)
	reply(encode(welcome{place: place{t.nonce, number}, Refused: refused}))
	if isNew && t.joined != nil {
		t.joined(h.Name, number)
	}
}

// assignPlace returns a generator's number, or the reason why the generator gets none. A generator that asks again gets
// the same number. Until all generators have joined, a new generator may get the number of a lost one.
func (t *Team) assignPlace(h hello) (number int, refused string, isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	free, there := -1, 0
	for i, m := range t.members {
		switch {
		case m != nil && m.name == h.Name:
			return i + 1, "", false
		case m != nil && m.ctx.Err() == nil:
			there++
		case free < 0:
			free = i
		}
	}
	if t.complete || free < 0 {
		return 0, fmt.Sprintf("all %d generators have joined already", len(t.members)), false
	}
	t.members[free] = newMember(t, h.Name, free+1)
	if t.complete = there+1 == len(t.members); t.complete {
		close(t.all)
	}
	return free + 1, "", true
}

// Members lists the generators.
func (t *Team) Members() (all []harness.Generator) {
	for _, m := range t.members {
		all = append(all, m)
	}
	return all
}

// markLost marks a generator as lost. That ends the run, since nobody knows what the generator's clients did last.
func (t *Team) markLost(gone EndedError) {
	for _, m := range t.present() {
		if m.name == gone.Name {
			m.cancel(gone)
		}
	}
}

func (t *Team) present() (all []*member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m != nil {
			all = append(all, m)
		}
	}
	return all
}

// Close tells every generator that the run is over. It may be called twice.
func (t *Team) Close() {
	t.end()
	t.closing()
	var leaving sync.WaitGroup
	for _, m := range t.present() {
		leaving.Go(m.dismiss)
	}
	leaving.Wait()
}

// askAll sends every generator an order, concurrently, and joins their errors.
func (t *Team) askAll(ctx context.Context, o order) (answers []orderReply, err error) {
	answers, errs := make([]orderReply, len(t.members)), make([]error, len(t.members))
	var asking sync.WaitGroup
	for i, m := range t.members {
		asking.Go(func() {
			if answers[i], errs[i] = m.ask(ctx, o); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", m.Name(), errs[i])
			}
		})
	}
	asking.Wait()
	return answers, errors.Join(errs...)
}

// orderWithin is the timeout of orders that a generator carries out at once.
const orderWithin = 10 * time.Second

// askAllBriefly is askAll with the timeout orderWithin, for an order that a generator carries out at once.
func (t *Team) askAllBriefly(o order) ([]orderReply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	return t.askAll(ctx, o)
}

// Impair applies a fault to links of client groups, in every generator. heal undoes it, may be called more than once,
// and is never nil.
func (t *Team) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	number := t.nextOrder()
	_, err = t.askAllBriefly(order{Number: number, Do: doImpair, Links: links, Fault: f})
	return sync.OnceValue(func() error {
		_, err := t.askAllBriefly(order{Do: doHeal, Heals: number})
		return err
	}), err
}

func (t *Team) nextOrder() int { return int(t.orders.Add(1)) }

// Touched returns the sum of what faults have touched on the link in all generators. A generator that does not answer
// counts as zero.
func (t *Team) Touched(l harness.Link) (sum harness.Touched) {
	answers, _ := t.askAllBriefly(order{Do: doTouched, Link: l})
	for _, a := range answers {
		sum = sum.Plus(a.Touched)
	}
	return sum
}

// Connections returns how many connections to the node are open from the client groups of all generators. A generator
// that does not answer counts as zero.
func (t *Team) Connections(node string) (sum int) {
	answers, _ := t.askAllBriefly(order{Do: doConnections, Link: harness.Link{To: node}})
	for _, a := range answers {
		sum += a.Connections
	}
	return sum
}

// Probe returns nil if the node answers in every generator. While the node answers in some generators only, all
// generators probe again, up to five times.
func (t *Team) Probe(ctx context.Context, from, to string) (err error) {
	for range probes {
		var failed int
		failed, err = t.probeAll(ctx, order{Do: doProbe, Link: harness.Link{From: from, To: to}})
		if failed == 0 || failed == len(t.members) {
			return err
		}
	}
	return err
}

// probes bounds how often all generators probe while their results differ.
const probes = 5

// Echo returns when the node has echoed the given number of bytes to every generator.
func (t *Team) Echo(ctx context.Context, from, to string, size int) error {
	_, err := t.probeAll(ctx, order{Do: doEcho, Link: harness.Link{From: from, To: to}, Size: size})
	return err
}

// Hangup makes every generator open a connection to the node and close it. It returns when the node has closed each of
// these connections too.
func (t *Team) Hangup(ctx context.Context, from, to string) error {
	_, err := t.probeAll(ctx, order{Do: doHangup, Link: harness.Link{From: from, To: to}})
	return err
}

// probeAll has every generator test a link. The first result is the number of generators in which the test failed.
func (t *Team) probeAll(ctx context.Context, o order) (failed int, err error) {
	o.For = orderWithin
	if end, ends := ctx.Deadline(); ends {
		o.For = time.Until(end)
	}
	answers, err := t.askAll(ctx, o)
	for _, a := range answers {
		if a.Error != "" {
			failed++
		}
	}
	return failed, err
}
