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

// supervisor watches the code under test. A panic, a call that does not return and a constructor that makes nothing are not
// the algorithm's answers: each of them ends the test with one sentence that says where.
type supervisor struct {
	limit time.Duration // of one call

	mu      sync.Mutex
	said    string        // the first thing that went wrong; empty: nothing
	trouble chan struct{} // closed when said is set
	calls   map[*call]bool

	wired sync.Map // clients with a tripwire

	// A search's calls leave their contexts alive, as a caller may: what the code under test has started with one, such as a
	// watchdog, then goes on, and is seen. They end when the client begins its next schedule.
	lasting bool
	callers map[any]*caller // by client; of a lasting supervisor

	shared bool        // values serve several goroutines
	made   map[any]any // the last value by client, or in a load every value, to tell one that is made twice
}

func newSupervisor(limit time.Duration) *supervisor {
	return &supervisor{limit: limit, trouble: make(chan struct{}), calls: map[*call]bool{}, callers: map[any]*caller{}, made: map[any]any{}}
}

// newLastingSupervisor does what newSupervisor does, for searches.
func newLastingSupervisor(limit time.Duration) *supervisor {
	g := newSupervisor(limit)
	g.lasting = true
	return g
}

// callerOf returns the caller of a new value that client uses, and ends the contexts of the value that it used before.
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

// errSupervisor is the panic that ends a search or a load when something has gone wrong.
var errSupervisor = errors.New("granttest: the code under test has failed")

// noteTrouble records what went wrong, if nothing did before.
func (g *supervisor) noteTrouble(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.said == "" {
		g.said = fmt.Sprintf(format, args...)
		close(g.trouble)
	}
}

// failure returns what went wrong. It is empty if nothing did.
func (g *supervisor) failure() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.said
}

// caller is one value of the algorithm under test, which one client uses.
type caller struct {
	supervisor *supervisor
	shared     bool // several goroutines use it
	goroutine  int  // number of the client's goroutine; 0 until its first call, and where several use it

	mu   sync.Mutex
	ends []context.CancelFunc // of the contexts of calls that have returned; of a lasting supervisor
}

// leave ends the contexts of all calls that have returned.
func (s *caller) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.ends {
		end()
	}
	s.ends = nil
}

// returned ends the context of a call that has returned, at once or with the caller.
func (s *caller) returned(end context.CancelFunc) {
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
	mayWait     bool // for a goroutine of its process, which may have ended with it: the search itself finds who waits in vain
}

func (c *call) String() string { return fmt.Sprintf("%s(%q)", c.method, c.key) }

// enter notes that a call begins, whose context ends when the call has taken too long. The function that it returns has to
// be deferred.
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
	s.supervisor.begin(c)
	return ctx, func() {
		s.returned(cancel)
		s.supervisor.end(c)
		if p := recover(); p != nil {
			s.supervisor.panicked(c, p)
			panic(p)
		}
	}
}

func (g *supervisor) begin(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls[c] = true
}

func (g *supervisor) end(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.calls, c)
}

// panicked records a panic, unless a fault crashed the client or the supervisor itself raised it.
func (g *supervisor) panicked(c *call, p any) {
	if err, ok := p.(error); ok && (errors.Is(err, harness.ErrCrashed) || errors.Is(err, errSupervisor)) {
		return
	}
	g.noteTrouble("%v panicked: %v%s", c, p, panicPlace())
}

// watch looks at calls until stop is closed, and records one that has not returned in time.
func (g *supervisor) watch(stop <-chan struct{}) {
	tick := time.NewTicker(min(g.limit/10, 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if c := g.oldest(func(c *call) bool { return !c.mayWait }); c != nil && time.Since(c.since) > g.limit {
				g.noteTrouble("%v has not returned within %v%s: it has to return when its context ends", c, g.limit, waitPlace(c.goroutine))
			}
		}
	}
}

// oldest returns the call that has lasted longest, of those that count, or nil if none is under way.
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

// underWay describes the call that has lasted longest, for a search that waits for it in vain. It returns nothing if there
// is none.
func (g *supervisor) underWay() string {
	c := g.oldest(func(c *call) bool { return !c.mayWait || g.isInUse(c.caller) })
	if c == nil {
		return ""
	}
	return fmt.Sprintf("; the call is %v%s", c, waitPlace(c.goroutine))
}

// isInUse reports whether a value is the last of its client. The caller has the lock.
func (g *supervisor) isInUse(s *caller) bool {
	for _, last := range g.callers {
		if last == s {
			return true
		}
	}
	return false
}

// construct calls a constructor, which may panic, hang or make nothing.
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
		g.noteTrouble("%s has not returned after %v", name, g.limit)
		panic(errSupervisor)
	case *ended != "":
		g.noteTrouble("%s", *ended)
		panic(errSupervisor)
	case isNil(*done):
		g.noteTrouble("%s returned nil: it has to make a value for each client", name)
		panic(errSupervisor)
	}
	return *done
}

// run calls f and reports whether it returns within d. If not, f goes on in the background.
func run(d time.Duration, f func()) bool {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		f()
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-returned:
		return true
	case <-t.C:
		return false
	}
}

// frame is one frame of a stack: a function, and its place as file:line.
type frame struct{ function, place string }

// userFrame returns where the code under test stands, by the frames of a stack, the innermost first. The code under test is the package
// that ours called; it may have called others, so the place is that of its own innermost frame. It is empty if ours called none.
func userFrame(frames []frame) string {
	ours := slices.IndexFunc(frames, func(f frame) bool { return packageOf(f.function) == ourPackage })
	if ours < 1 {
		return ""
	}
	home := packageOf(frames[ours-1].function)
	i := slices.IndexFunc(frames, func(f frame) bool { return packageOf(f.function) == home })
	return frames[i].place
}

var ourPackage = reflect.TypeFor[supervisor]().PkgPath()

// packageOf returns the import path in a function's name.
func packageOf(function string) string {
	dir, name := path.Split(function)
	name, _, _ = strings.Cut(name, ".")
	return dir + name
}

// panicPlace says where the present panic began. It is empty if that is not known.
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

// describePlace says where the code under test is, or was.
func describePlace(words string, frames []frame) string {
	place := userFrame(frames)
	if place == "" {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", words, place)
}

// waitPlace says where a goroutine stands. It is empty if that is not known.
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

// framesOf reads the frames of a goroutine as the runtime prints it: a function and its arguments on one line, and its place
// on the next.
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

// goroutine returns the number of the calling goroutine.
func goroutine() (id int) {
	b := make([]byte, 64)
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b, false)]), "goroutine %d ", &id)
	return id
}

// tripwire is a go-redis hook that ends calls which go on after the supervisor has recorded a failure, such as those of a lock
// that tries for ever.
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

// stop ends the caller's call by a panic if the supervisor has recorded a failure. A goroutine of the algorithm's own goes on,
// since nobody would recover its panic.
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
