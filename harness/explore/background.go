package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// This file finds background work of clients: goroutines that outlive a command, timers, and sleeps in real time. None
// of it is part of a schedule, so the search cannot see it. The search runs two schedules to find it: one in which
// clients run one after the other, and one in which they alternate. It records every allocation, and lists goroutines
// at each step and after each operation.

// profileTurn is held while a search looks for background work. One search may do so at a time, since the memory
// profile belongs to the whole process.
var profileTurn sync.Mutex

// backgroundWork describes the goroutines and timers that clients start by themselves, each with the line of source
// that starts it; empty: none was seen.
func (s *search) backgroundWork(ctx context.Context, w *world) (found string, err error) {
	if s.spec.Program.NoBackgroundWork {
		return "", nil
	}
	profileTurn.Lock()
	defer profileTurn.Unlock()
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	defer func() { runtime.MemProfileRate = rate }()
	var spawned map[string]bool
	for range maxAttempts {
		still := w.standstills()
		if spawned, err = s.watchClients(ctx, w); w.standstills() == still || errors.Is(err, resp.ErrSilent) {
			break
		}
		w.abandonDisturbed()
	}
	return strings.Join(slices.Sorted(maps.Keys(spawned)), " and "), err
}

// watchClients runs a schedule in which clients run one after the other, and one in which they alternate. It returns
// the lines of source that start background work.
func (s *search) watchClients(ctx context.Context, w *world) (spawned map[string]bool, err error) {
	before := countTimers()
	spawned = map[string]bool{}
	for _, order := range []strategy.Strategy{&strategy.First{}, strategy.Alternate{}} {
		if err = s.watchGoroutines(ctx, w, order, spawned); errors.Is(err, schedule.ErrStopped) {
			err = nil // the search has reported it as well
		}
		if err != nil {
			break
		}
	}
	for origin, n := range countTimers() {
		if n > before[origin] {
			spawned[origin] = true
		}
	}
	return spawned, err
}

// watchGoroutines runs a schedule with a strategy. It adds the lines of source that start background goroutines to the
// map spawned.
func (s *search) watchGoroutines(ctx context.Context, w *world, order strategy.Strategy,
	spawned map[string]bool) error {
	look := func(a *actor) {
		for _, origin := range lingeringGoroutines(a.goroutine) {
			spawned[origin] = true
		}
	}
	ex, err := beginSchedule(ctx, s.spec, s.spec.budgets()[0], w)
	if err != nil {
		return err
	}
	ex.watch = look
	_, err = ex.drive(ctx, order, ex)
	return err
}

// Functions of the explorer, as stacks name them.
const (
	launchFrame = "explore.(*actor).launch." // runs a client
	threadFrame = "explore.(*actor).run"     // runs a goroutine of harness.Go
	startFrame  = "explore.clientClock.Go"   // starts such a goroutine
)

// servingPackages lists packages that start goroutines and timers only to serve a client's current command.
var servingPackages = []string{
	"github.com/redis/go-redis/", "github.com/go-redsync/redsync/", "context.", "net.", "os.", "runtime.",
	"testing.", "internal/",
}

func isAllowed(function string) bool {
	return slices.ContainsFunc(servingPackages, func(p string) bool { return strings.HasPrefix(function, p) })
}

// startTimers lists the functions of package time that start a timer or sleep. The memory profile, from which timers
// are counted, also shows other functions of the package.
var startTimers = []string{"time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick",
	"time.(*Timer).Reset", "time.(*Ticker).Reset"}

// countTimers counts the clients' timers and sleeps since the process started, by the line of code that started them.
func countTimers() map[string]int64 {
	runtime.GC() // an allocation is in the profile after the second collection
	runtime.GC()
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; {
		records = make([]runtime.MemProfileRecord, n+100)
		n, ok = runtime.MemProfile(records, true)
		if ok {
			records = records[:n]
		}
	}
	out := map[string]int64{}
	for _, r := range records {
		if origin := timerOrigin(r.Stack()); origin != "" {
			out[origin] += r.AllocObjects
		}
	}
	return out
}

// timerOrigin returns the line of a client's code that started a timer, which it finds in the stack of the call. The
// result is empty for any other stack, and for a timer that only serves a command.
func timerOrigin(stack []uintptr) string {
	origin, timer, client := "", "", false
	for frames := runtime.CallersFrames(stack); ; {
		f, more := frames.Next()
		switch name := f.Function; {
		case strings.Contains(name, launchFrame), strings.Contains(name, threadFrame):
			client = true
		case slices.Contains(startTimers, name):
			timer = name
		case timer != "" && origin == "" && !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "time."):
			if isAllowed(name) {
				return ""
			}
			origin = fmt.Sprintf("%s at %s:%d", timer, filepath.Base(f.File), f.Line)
		}
		if !more {
			break
		}
	}
	if !client {
		return ""
	}
	return origin
}

// A goroutine that has nothing left to do gets endWithin of real time to end. If it is ready to run and a busy machine
// does not run it, it gets endBusyWithin.
const (
	endWithin     = 5 * time.Millisecond
	endBusyWithin = 20 * endWithin
)

// lingeringGoroutines returns what spawnedBy returns, without goroutines that are about to end. It waits for these to
// end, for at most endWithin or endBusyWithin.
func lingeringGoroutines(goroutine int) (origins []string) {
	for began := time.Now(); ; runtime.Gosched() {
		var ready bool
		origins, ready = spawnedBy(goroutine)
		if took := time.Since(began); len(origins) == 0 || took > endWithin && !ready || took > endBusyWithin {
			return origins
		}
	}
}

// spawnedBy lists the lines of code that started a goroutine's descendants, as far as these still exist. Goroutines of
// harness.Go do not count, nor do those that only serve a command or are about to send one. The result ready says
// whether a listed goroutine is running or could run now.
func spawnedBy(goroutine int) (origins []string, ready bool) {
	if goroutine == 0 {
		return nil, false
	}
	family := []int{goroutine}
	for _, g := range stacks() {
		if !slices.Contains(family, g.parent) || isAllowed(g.creator) || strings.HasSuffix(g.creator, startFrame) ||
			strings.Contains(g.text, "explore.(*conn).") {
			continue
		}
		family = append(family, g.id)
		origins = append(origins, "a goroutine started at "+g.origin)
		state, _, _ := strings.Cut(g.text, "\n")
		ready = ready || strings.Contains(state, "[run") // runnable or running
	}
	return origins, ready
}

// stack is one goroutine in the runtime's listing of all goroutines.
type stack struct {
	id, parent      int
	creator, origin string // the function that started it, and its file and line
	text            string
}

// stacks lists all goroutines, the oldest first.
func stacks() (all []stack) {
	b := make([]byte, 1<<20)
	for {
		n := runtime.Stack(b, true)
		if n < len(b) {
			b = b[:n]
			break
		}
		b = make([]byte, 2*len(b))
	}
	for text := range strings.SplitSeq(string(b), "\n\n") {
		g := stack{text: text}
		_, _ = fmt.Sscanf(text, "goroutine %d ", &g.id)
		_, made, ok := strings.Cut(text, "\ncreated by ")
		if !ok {
			continue
		}
		who, where, _ := strings.Cut(made, "\n")
		creator, parent, _ := strings.Cut(who, " in goroutine ")
		g.creator = creator
		g.parent, _ = strconv.Atoi(parent)
		where, _, _ = strings.Cut(strings.TrimSpace(where), " ")
		g.origin = filepath.Base(where)
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b stack) int { return a.id - b.id })
	return all
}

func goroutineID() (id int) {
	b := make([]byte, 64)
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b, false)]), "goroutine %d ", &id)
	return id
}
