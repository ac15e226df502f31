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
	Name string // unique among the generators

	// Build makes the setup for an assignment.
	Build func(ctx context.Context, a Assignment) (Setup, error)

	// Clock makes the clock that stamps operations. Default: harness.NewClock.
	Clock func() harness.Clock

	Joined func(number int) // called when a coordinator has accepted this generator; may be nil
}

// Assignment describes what a generator has to build.
type Assignment struct {
	Task   []byte        // what Options.Task returned
	Number int           // number of this generator, from 1
	Share  harness.Share // share of the clients that this generator drives
	Clock  harness.Clock

	// Ahead returns roughly how far the run's clock is ahead of Clock. It returns 0 until the load begins.
	Ahead func() time.Duration

	// Fail ends the load with an error, which the coordinator gets.
	Fail func(error)

	// Events records an event of the clients' links. The event's times are read from Clock.
	Events func(harness.Event)
}

// Setup is what Generator.Build has built: the load of one generator, and the links of its clients.
type Setup struct {
	Load  harness.ShareSpec   // the load, whose fields Share, Clock and Record stay empty, since Serve sets them
	Links harness.LinkControl // controls the links from client groups to nodes
	Close func() error        // ends all that was built; may be nil
}

// ErrLost says that no message came from the other side during the time lostAfter.
var ErrLost = errors.New("the other side was silent")

const (
	lostAfter = 15 * time.Second // time without a message after which the other side counts as lost
	lastWords = 3 * time.Second  // how long an interrupted generator tries to report its interruption
)

// Serve joins a coordinator and carries out its orders until the run is over. The error wraps ErrLost if the
// coordinator was silent for the time lostAfter, and ErrRefused if it does not accept this generator.
func (w Generator) Serve(ctx context.Context, post Post) (err error) {
	if w.Clock == nil {
		w.Clock = harness.NewClock
	}
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{
		Generator: w, post: post, clock: w.Clock(), ctx: ctx, cancel: cancel, sending: sending,
		orders: map[int]*orderState{}, heard: time.Now(),
		stop: make(chan struct{}), runOver: make(chan struct{}),
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	defer func() {
		cancel(err)
		if err == nil || errors.Is(err, ErrLost) {
			stopSending() // nobody listens
		} else {
			time.AfterFunc(lastWords, stopSending)
		}
		err = errors.Join(err, s.close())
	}()
	for subject, answer := range map[string]func([]byte, func([]byte)){
		s.place.clock(): s.answerTime, s.place.do(): s.handleOrder,
	} {
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

// ErrRefused says that the coordinator does not accept a generator.
var ErrRefused = errors.New("refused")

// server is a generator that has joined a run.
type server struct {
	Generator
	post   Post
	place  place
	clock  harness.Clock
	ctx    context.Context // context for everything except sending records
	cancel context.CancelCauseFunc

	sending context.Context // context for sending records: it outlives ctx, so that the last records arrive

	mu     sync.Mutex
	heard  time.Time // when the coordinator last asked for something
	orders map[int]*orderState
	closed bool            // no order is carried out from now on
	events []harness.Event // events to be sent with the next record
	setup  *Setup
	load   *harness.ShareLoad

	stop         chan struct{} // closed when the load is to end
	stopped      sync.Once
	runOver      chan struct{} // closed when the run is over
	closeRunOver sync.Once
	working      sync.WaitGroup

	ahead   atomic.Int64 // roughly how far the run's clock is ahead of ours, in nanoseconds
	records int          // number of records sent; only the load uses it
}

// orderState is an order that was received.
type orderState struct {
	finished chan struct{} // closed when reply is set
	reply    []byte
	heal     func() error // undoes a doImpair order; nil for other orders
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

// askUntil repeats a request until there is an answer. The error wraps ErrLost if there is none within lostAfter.
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

// wait returns nil when the run is over. It returns an error when ctx ends, or when no message from the coordinator has
// come for lostAfter.
func (s *server) wait(ctx context.Context) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-s.runOver:
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

// noteContact records that a message of the coordinator has just come.
func (s *server) noteContact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = time.Now()
}
