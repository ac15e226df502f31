package generators

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Team is a coordinator's generators.
type Team struct {
	post  Post
	nonce string // that no other team has
	task  func(context.Context) ([]byte, error)

	tasking sync.Mutex // held while the task is made
	made    []byte     // the task; nil: not yet

	mu       sync.Mutex
	members  []*member     // by number, from 1; nil: not there yet
	complete bool          // all have joined
	all      chan struct{} // closed when the last has joined
	joined   func(name string, number int)
	closing  func() // ends the answers to those who join
	over     context.Context
	end      context.CancelFunc
}

// Options say who coordinates.
type Options struct {
	Generators int // how many to wait for

	// Task returns what each generator is given when its clients are to open: what Generator.Build takes. It is called
	// again only after an error.
	Task func(context.Context) ([]byte, error)

	Joined func(name string, number int) // called for each that joins; may be nil
	Lost   <-chan Gone                   // takes generators that have ended before the run was over; may be nil
}

// Gone is the error of a generator that has ended before the run was over: nobody is there any more to be asked.
type Gone struct {
	Name string // of the Generator
	Why  error
}

func (g Gone) Error() string { return g.Why.Error() }

// Unwrap returns why it has ended.
func (g Gone) Unwrap() error { return g.Why }

// Gather waits for the generators to join.
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
		t.lose(gone)
		err = gone
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	t.Close()
	return nil, err
}

// watch takes generators that have ended, until the run is over.
func (t *Team) watch(lost <-chan Gone) {
	for {
		select {
		case gone := <-lost:
			t.lose(gone)
		case <-t.over.Done():
			return
		}
	}
}

// taskOnce returns the task of all generators, which the first makes.
func (t *Team) taskOnce(ctx context.Context) ([]byte, error) {
	t.tasking.Lock()
	defer t.tasking.Unlock()
	if t.made != nil {
		return t.made, nil
	}
	made, err := t.task(ctx)
	if err == nil {
		t.made = made
	}
	return made, err
}

// admit answers whoever would join.
func (t *Team) admit(message []byte, reply func([]byte)) {
	var h hello
	if err := json.Unmarshal(message, &h); err != nil {
		reply(encode(welcome{Refused: err.Error()}))
		return
	}
	number, refused, isNew := t.placeOf(h)
	reply(encode(welcome{place: place{t.nonce, number}, Refused: refused}))
	if isNew && t.joined != nil {
		t.joined(h.Name, number)
	}
}

// placeOf gives a generator its number. One that asks again has the same. Until all are there, it may be that of one
// that was lost.
func (t *Team) placeOf(h hello) (number int, refused string, isNew bool) {
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
		return 0, fmt.Sprintf("its %d generators are there already", len(t.members)), false
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

// lose ends the load of a generator that has ended, and so the run: what its clients did last is not known.
func (t *Team) lose(gone Gone) {
	for _, m := range t.there() {
		if m.name == gone.Name {
			m.cancel(gone)
		}
	}
}

// there lists the generators that have joined.
func (t *Team) there() (all []*member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m != nil {
			all = append(all, m)
		}
	}
	return all
}

// Close tells every generator that the run is over. It is safe to call twice.
func (t *Team) Close() {
	t.end()
	t.closing()
	var leaving sync.WaitGroup
	for _, m := range t.there() {
		leaving.Go(m.leave)
	}
	leaving.Wait()
}

// each has every generator carry an order out, side by side, and joins their errors.
func (t *Team) each(ctx context.Context, o order) (answers []done, err error) {
	answers, errs := make([]done, len(t.members)), make([]error, len(t.members))
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

// orderWithin bounds what a generator does at once.
const orderWithin = 10 * time.Second

// brief has every generator do what takes no time.
func (t *Team) brief(o order) ([]done, error) {
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	return t.each(ctx, o)
}

// Impair does a fault to links of client groups, in every generator. heal undoes it, may be called more than once, and
// is never nil.
func (t *Team) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	numbers, errs := make([]int, len(t.members)), make([]error, len(t.members))
	ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
	defer cancel()
	var asking sync.WaitGroup
	for i, m := range t.members {
		numbers[i] = m.number()
		asking.Go(func() { _, errs[i] = m.askAs(ctx, numbers[i], order{Do: doImpair, Links: links, Fault: f}) })
	}
	asking.Wait()
	heal = sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), orderWithin)
		defer cancel()
		var healing sync.WaitGroup
		failed := make([]error, len(t.members))
		for i, m := range t.members {
			healing.Go(func() { _, failed[i] = m.ask(ctx, order{Do: doHeal, Heals: numbers[i]}) })
		}
		healing.Wait()
		return errors.Join(failed...)
	})
	return heal, errors.Join(errs...)
}

// Touched adds up what faults have touched on the link in every generator. One that does not answer touched nothing.
func (t *Team) Touched(l harness.Link) (sum harness.Touched) {
	answers, _ := t.brief(order{Do: doTouched, Link: l})
	for _, a := range answers {
		sum = sum.Plus(a.Touched)
	}
	return sum
}

// Connections adds up the connections that the groups have to the node. A generator that does not answer has none.
func (t *Team) Connections(node string) (sum int) {
	answers, _ := t.brief(order{Do: doConnections, Link: harness.Link{To: node}})
	for _, a := range answers {
		sum += a.Connections
	}
	return sum
}

// Probe returns nil if the node answers in every generator. While it does in some and not in others, it looks again,
// probes times at most.
func (t *Team) Probe(ctx context.Context, from, to string) (err error) {
	for range probes {
		var failed int
		if failed, err = t.look(ctx, order{Do: doProbe, Link: harness.Link{From: from, To: to}}); failed == 0 ||
			failed == len(t.members) {
			return err
		}
	}
	return err
}

// probes bounds how often generators that differ are asked to look again.
const probes = 5

// Echo returns when size bytes have come back in every generator.
func (t *Team) Echo(ctx context.Context, from, to string, size int) error {
	_, err := t.look(ctx, order{Do: doEcho, Link: harness.Link{From: from, To: to}, Size: size})
	return err
}

// Hangup returns when every generator has seen the end of a connection.
func (t *Team) Hangup(ctx context.Context, from, to string) error {
	_, err := t.look(ctx, order{Do: doHangup, Link: harness.Link{From: from, To: to}})
	return err
}

// look has every generator look along a link, and returns how many saw nothing.
func (t *Team) look(ctx context.Context, o order) (failed int, err error) {
	o.For = orderWithin
	if end, ends := ctx.Deadline(); ends {
		o.For = time.Until(end)
	}
	answers, err := t.each(ctx, o)
	for _, a := range answers {
		if a.Error != "" {
			failed++
		}
	}
	return failed, err
}
