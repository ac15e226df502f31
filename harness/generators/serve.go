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

// Generator says how this process generates load.
type Generator struct {
	Name string // that no other generator has

	// Build makes what an assignment says.
	Build func(ctx context.Context, a Assignment) (Setup, error)

	// Clock makes the clock that stamps operations. Default: harness.NewClock.
	Clock func() harness.Clock

	Joined func(number int) // called when a coordinator has taken this generator; may be nil
}

// Assignment is what a generator is to build.
type Assignment struct {
	Task   []byte        // of Options.Task
	Number int           // of this generator, from 1
	Share  harness.Share // of the clients
	Clock  harness.Clock

	// Ahead returns by about how much the run's clock is ahead of Clock; 0 until the load begins.
	Ahead func() time.Duration

	// Fail ends the load because of an error, which the coordinator is told.
	Fail func(error)

	// Events takes what the clients' links show, with times on Clock.
	Events func(harness.Event)
}

// Setup is a run as one generator drives it.
type Setup struct {
	Load  harness.ShareSpec   // without Share, Clock and Take
	Links harness.LinkControl // from client groups to nodes
	Close func() error        // ends all that was built; may be nil
}

// ErrLost says that the other side was not heard of for lostAfter.
var ErrLost = errors.New("nothing was heard of the other side")

const (
	lostAfter = 15 * time.Second // without a sign of life
	lastWords = 3 * time.Second  // how long a generator that is interrupted tries to say so
)

// Serve joins a coordinator and does what it says, until the run is over. The error wraps ErrLost if the coordinator went away, and
// ErrRefused if it does not want this generator.
func (w Generator) Serve(ctx context.Context, post Post) (err error) {
	if w.Clock == nil {
		w.Clock = harness.NewClock
	}
	sending, hush := context.WithCancel(context.WithoutCancel(ctx))
	defer hush()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{
		Generator: w, post: post, clock: w.Clock(), ctx: ctx, cancel: cancel, sending: sending, orders: map[int]*call{}, heals: map[int]func() error{}, heard: time.Now(),
		stop: make(chan struct{}), left: make(chan struct{}),
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	defer func() {
		cancel(err)
		if err == nil || errors.Is(err, ErrLost) {
			hush() // nobody listens
		} else {
			time.AfterFunc(lastWords, hush)
		}
		err = errors.Join(err, s.close())
	}()
	for subject, answer := range map[string]func([]byte, func([]byte)){s.place.clock(): s.tellTime, s.place.do(): s.obey} {
		stop, err := post.Answer(subject, answer)
		if err != nil {
			return err
		}
		defer stop()
	}
	if w.Joined != nil {
		w.Joined(s.place.Number)
	}
	return s.wait(ctx)
}

// ErrRefused says that the coordinator does not want a generator.
var ErrRefused = errors.New("refused")

// server is a generator at work.
type server struct {
	Generator
	post   Post
	place  place
	clock  harness.Clock
	ctx    context.Context // of all that it does
	cancel context.CancelCauseFunc

	sending context.Context // of what it sends: beyond ctx, so that what is recorded gets there

	mu     sync.Mutex
	heard  time.Time // when the coordinator last asked for something
	orders map[int]*call
	closed bool                 // no order is begun any more
	heals  map[int]func() error // by the number of the order that impaired
	events []harness.Event      // that the next record takes with it
	setup  *Setup
	load   *harness.ShareLoad

	stop    chan struct{} // closed when the load is to end
	stopped sync.Once
	left    chan struct{} // closed when the run is over
	leaving sync.Once
	working sync.WaitGroup

	ahead   atomic.Int64 // of the run's clock before ours, about
	records int          // brought so far; only the load uses it
}

// call is an order, under way or done.
type call struct {
	over chan struct{}
	done []byte
}

func (s *server) join(ctx context.Context) error {
	var w welcome
	text, err := askUntil(ctx, s.post, subjectJoin, encode(hello{s.Name}))
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	switch {
	case err != nil:
		return fmt.Errorf("generators: join: %w", err)
	case w.Refused != "":
		return fmt.Errorf("%w: %s", ErrRefused, w.Refused)
	}
	s.place = w.place
	return nil
}

// askUntil asks again until there is an answer. The error wraps ErrLost after lostAfter without one.
func askUntil(ctx context.Context, post Post, subject string, message []byte) ([]byte, error) {
	patient, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	answer, err := keepAsking(patient, post, subject, message)
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%w for %v: %w", ErrLost, lostAfter, err)
}

// wait returns when the run is over, or the coordinator has gone.
func (s *server) wait(ctx context.Context) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-s.left:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
		s.mu.Lock()
		silent := time.Since(s.heard)
		s.mu.Unlock()
		if silent > lostAfter {
			return fmt.Errorf("generators: the coordinator: %w for %v: the load ends", ErrLost, lostAfter)
		}
	}
}

// close ends the load and all that was built.
func (s *server) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.endLoad()
	s.working.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.setup == nil || s.setup.Close == nil {
		return nil
	}
	return s.setup.Close()
}

func (s *server) endLoad() { s.stopped.Do(func() { close(s.stop) }) }

func (s *server) noteContact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
}
