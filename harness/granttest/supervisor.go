package granttest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// supervisor watches the code under test. A panic, a call that does not return and a constructor that returns nil are
// not answers of the algorithm. Each ends the test with one sentence that says where it happened.
type supervisor struct {
	limit time.Duration // time limit of one call

	mu           sync.Mutex
	firstFailure string        // the first failure; empty: none
	trouble      chan struct{} // closed when the first failure is recorded
	calls        map[*call]bool

	wired sync.Map // clients with a tripwire

	// In a search, the context of a call stays alive after the call. So a watchdog that the call started goes on, and
	// the search sees it. The context ends when the client begins its next schedule.
	lasting bool
	callers map[any]*caller // callers by client; in a search only

	shared bool        // goroutines share values
	made   map[any]any // values, to detect one that is returned twice: the last of each client or, in a load, all
}

// newSupervisor returns a supervisor. The parameter lasting is true for a search, in which the contexts of calls
// outlive the calls.
func newSupervisor(limit time.Duration, lasting bool) *supervisor {
	return &supervisor{limit: limit, lasting: lasting, trouble: make(chan struct{}), calls: map[*call]bool{},
		callers: map[any]*caller{}, made: map[any]any{}}
}

// callerOf returns a caller for a client's new value. It ends the contexts that calls of the client's previous value
// left alive.
func (g *supervisor) callerOf(client any) *caller {
	s := &caller{supervisor: g, shared: g.shared}
	if g.lasting && client != nil {
		g.mu.Lock()
		before := g.callers[client]
		g.callers[client] = s
		g.mu.Unlock()
		if before != nil {
			before.leave()
		}
	}
	return s
}

// errSupervisor is the panic that ends a search or a load after a failure.
var errSupervisor = errors.New("granttest: the code under test has failed")

// noteTrouble records a failure, unless there was one before.
func (g *supervisor) noteTrouble(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.firstFailure == "" {
		g.firstFailure = fmt.Sprintf(format, args...)
		close(g.trouble)
	}
}

// fail records a failure and ends the search or the load.
func (g *supervisor) fail(format string, args ...any) {
	g.noteTrouble(format, args...)
	panic(errSupervisor)
}

// failure returns the first failure; empty if there is none.
func (g *supervisor) failure() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.firstFailure
}

// caller is one value of the algorithm under test, as its client calls it.
type caller struct {
	supervisor *supervisor
	shared     bool // several goroutines use the value
	goroutine  int  // number of the client's goroutine; 0 before its first call, and if several use it

	mu   sync.Mutex
	ends []context.CancelFunc // functions that end the contexts of calls that returned; in a search only
}

// leave ends the contexts of all calls of this value that have returned.
func (s *caller) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
}

// endAfter ends the context of a call that has returned: at once or, in a search, when the client gets its next value.
func (s *caller) endAfter(end context.CancelFunc) {
	if !s.supervisor.lasting {
		end()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, end)
}

// call is one call of a method.
type call struct {
	caller      *caller
	method, key string
	since       time.Time
	goroutine   int
	mayWait     bool // it may wait for a crashed goroutine of its process, which the search itself reports
}

func (c *call) String() string { return fmt.Sprintf("%s(%q)", c.method, c.key) }

// enter records that a call begins. The context ends when the call has taken too long. The caller has to defer the
// returned function.
func (s *caller) enter(ctx context.Context, method, key string) (context.Context, func()) {
	me := s.goroutine
	if me == 0 {
		me = goroutine()
	}
	if !s.shared {
		s.goroutine = me
	}
	ctx, cancel := context.WithTimeout(ctx, s.supervisor.limit)
	c := &call{s, method, key, time.Now(), me, s.shared && s.supervisor.lasting}
	g := s.supervisor
	g.mu.Lock()
	g.calls[c] = true
	g.mu.Unlock()
	return ctx, func() {
		s.endAfter(cancel)
		g.mu.Lock()
		delete(g.calls, c)
		g.mu.Unlock()
		if p := recover(); p != nil {
			s.supervisor.panicked(c, p)
			panic(p)
		}
	}
}

// panicked records a panic, unless it is a client's crash or the supervisor's own.
func (g *supervisor) panicked(c *call, p any) {
	if err, ok := p.(error); ok && (errors.Is(err, harness.ErrCrashed) || errors.Is(err, errSupervisor)) {
		return
	}
	g.noteTrouble("%v panicked: %v%s", c, p, panicPlace())
}

// watch checks calls until the channel stop is closed, and records one that does not return in time.
func (g *supervisor) watch(stop <-chan struct{}) {
	tick := time.NewTicker(min(g.limit/10, 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if c := g.oldest(func(c *call) bool { return !c.mayWait }); c != nil && time.Since(c.since) > g.limit {
				g.noteTrouble("%v has not returned within %v%s: it has to return when its context ends", c, g.limit,
					waitPlace(c.goroutine))
			}
		}
	}
}

// oldest returns the longest running call among those that pass the given test; nil if there is none.
func (g *supervisor) oldest(counts func(*call) bool) (oldest *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.calls {
		if counts(c) && (oldest == nil || c.since.Before(oldest.since)) {
			oldest = c
		}
	}
	return oldest
}

// underWay describes the longest running call, for the error of a search that has waited in vain. It is empty if there
// is none.
func (g *supervisor) underWay() string {
	c := g.oldest(func(c *call) bool {
		for _, last := range g.callers { // a caller that is the last of its client is in use
			if last == c.caller {
				return true
			}
		}
		return !c.mayWait
	})
	if c == nil {
		return ""
	}
	return fmt.Sprintf("; the call is %v%s", c, waitPlace(c.goroutine))
}

// construct calls a constructor. If it panics, hangs or returns nil, construct records the failure and panics.
func construct[T any](g *supervisor, name string, make func() T) (made T) {
	done := new(T)
	ended := new(string)
	returned := run(g.limit, func() {
		defer func() {
			if p := recover(); p != nil {
				*ended = fmt.Sprintf("%s panicked: %v%s", name, p, panicPlace())
			}
		}()
		*done = make()
	})
	switch {
	case !returned:
		g.fail("%s has not returned after %v", name, g.limit)
	case *ended != "":
		g.fail("%s", *ended)
	case isNil(*done):
		g.fail("%s returned nil: it has to make a value for each client", name)
	}
	return *done
}

// run calls f and reports whether it returns within d. If not, f continues in the background.
func run(d time.Duration, f func()) bool {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f()
	}()
	select {
	case <-returned:
		return true
	case <-time.After(d):
		return false
	}
}

// frame is one frame of a stack: a function, and its place as file:line.
type frame struct{ function, place string }

var ourPackage = reflect.TypeFor[supervisor]().PkgPath()

// packageOf returns the import path in a function's name.
func packageOf(function string) string {
	dir, name := path.Split(function)
	name, _, _ = strings.Cut(name, ".")
	return dir + name
}

// panicPlace describes where the current panic began; empty if that is unknown.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	all := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var frames []frame
	for raised, more := false, true; more; {
		var f runtime.Frame
		f, more = all.Next()
		switch {
		case f.Function == "runtime.gopanic":
			raised = true
		case raised && !strings.HasPrefix(f.Function, "runtime."):
			frames = append(frames, frame{f.Function, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)})
		}
	}
	return describePlace("at", frames)
}

// waitPlace describes where a goroutine waits; empty if that is unknown.
func waitPlace(id int) string {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	for text := range strings.SplitSeq(string(b), "\n\n") {
		if strings.HasPrefix(text, fmt.Sprintf("goroutine %d [", id)) {
			return describePlace("it stands at", framesOf(text))
		}
	}
	return ""
}

// framesOf parses the frames of a goroutine in the runtime's format: a line with the function and its arguments, then a
// line with its place.
func framesOf(text string) (frames []frame) {
	lines := strings.Split(text, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		function := lines[i]
		if end := strings.LastIndex(function, "("); end > 0 {
			function = function[:end]
		}
		frames = append(frames, frame{function, filepath.Base(place)})
	}
	return frames
}

func goroutine() (id int) {
	b := make([]byte, 64)
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b, false)]), "goroutine %d ", &id)
	return id
}

// tripwire is a go-redis hook. It ends calls that continue after the supervisor has recorded a failure, such as those
// of a lock that retries for ever.
type tripwire struct{ supervisor *supervisor }

func (w tripwire) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w tripwire) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.supervisor.stop()
		return next(ctx, cmd)
	}
}

func (w tripwire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.supervisor.stop()
		return next(ctx, cmds)
	}
}

// stop panics in a supervised call if the supervisor has recorded a failure. It spares the algorithm's own goroutines,
// since nothing would recover their panic.
func (g *supervisor) stop() {
	select {
	case <-g.trouble:
	default:
		return
	}
	me := goroutine()
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.calls {
		if c.goroutine == me {
			panic(errSupervisor)
		}
	}
}

// addHook puts a tripwire on a client, once.
func (g *supervisor) addHook(r redis.UniversalClient) {
	if _, wired := g.wired.LoadOrStore(r, true); !wired {
		r.AddHook(tripwire{g})
	}
}

// describePlace returns, in parentheses, the given words and the place where the code under test is or was; empty if
// the place is unknown. The parameter frames is the stack, innermost frame first. The code under test is the package
// that this package called. Its innermost frame is the place.
func describePlace(words string, frames []frame) string {
	ours := slices.IndexFunc(frames, func(f frame) bool { return packageOf(f.function) == ourPackage })
	if ours < 1 {
		return ""
	}
	home := packageOf(frames[ours-1].function)
	i := slices.IndexFunc(frames, func(f frame) bool { return packageOf(f.function) == home })
	return fmt.Sprintf(" (%s %s)", words, frames[i].place)
}
