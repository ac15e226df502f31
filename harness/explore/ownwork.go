package explore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file finds out whether a program's clients act by themselves: in goroutines that outlive the command at hand, by
// timers, or by sleeping in real time. None of that is part of a schedule, so the search cannot see it. Two schedules are
// run for this: one in which clients come one after the other, and one in which they take turns. In them every allocation is
// recorded, and the goroutines are listed in each step and after each operation.

// watchOne lets one search at a time run such schedules: the memory profile is one for the whole process.
var watchOne sync.Mutex

// ownWork describes what clients do by themselves, with the place in their source. It is empty if nothing was seen.
func (s *search) ownWork(ctx context.Context, w *world) (found string, err error) {
	if s.spec.Program.NoBackgroundWork {
		return "", nil
	}
	watchOne.Lock()
	defer watchOne.Unlock()
	rate := runtime.MemProfileRate
	runtime.MemProfileRate = 1
	before := timers()
	spawned := map[string]bool{}
	for _, next := range []func([]move) interleave.Choice{first, lastClient} {
		if err = s.watch(ctx, w, next, spawned); errors.Is(err, errStopped) {
			err = nil // the search has met and reported it as well
		}
		if err != nil {
			break
		}
	}
	after := timers()
	runtime.MemProfileRate = rate
	for place, n := range after {
		if n > before[place] {
			spawned[place] = true
		}
	}
	places := make([]string, 0, len(spawned))
	for place := range spawned {
		places = append(places, place)
	}
	slices.Sort(places)
	return strings.Join(places, " and "), err
}

// first picks the move by which the same client goes on for as long as it can.
func first(moves []move) interleave.Choice { return moves[0].choice }

// lastClient picks moves so that clients take turns.
func lastClient(moves []move) (c interleave.Choice) {
	c = first(moves)
	for _, m := range moves {
		if m.choice.Kind() == interleave.Runs {
			c = m.choice
		}
	}
	return c
}

// watch runs a schedule of the program step by step, and adds to spawned the places that start goroutines.
func (s *search) watch(ctx context.Context, w *world, next func([]move) interleave.Choice, spawned map[string]bool) error {
	look := func(a *actor) {
		for _, place := range lingering(a.goroutine) {
			spawned[place] = true
		}
	}
	ex, err := begin(ctx, s.spec, s.spec.parts()[0], w, time.NewTimer(stall))
	if err != nil {
		return err
	}
	ex.recorded = look // a watchdog lives from a grant to the release, between which a client need not wait
	for {
		for _, a := range ex.actors {
			look(a)
		}
		moves, err := ex.moves()
		if err != nil || len(moves) == 0 {
			return err
		}
		if _, err := ex.step(ctx, next(moves)); err != nil {
			ex.abandon()
			return err
		}
	}
}

// launched is the function in which every client runs.
const launched = "explore.(*actor).launch."

// allowed lists the packages whose goroutines and timers only serve the command at hand.
var allowed = []string{
	"github.com/redis/go-redis/", "github.com/go-redsync/redsync/", "context.", "net.", "os.", "runtime.", "testing.", "internal/",
}

func isAllowed(function string) bool {
	return slices.ContainsFunc(allowed, func(p string) bool { return strings.HasPrefix(function, p) })
}

// timers counts the timers and sleeps of clients since the process started, by the place in the code that asked for them.
func timers() map[string]int64 {
	runtime.GC() // an allocation appears in the profile after the second collection
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
		if place := timerPlace(r.Stack()); place != "" {
			out[place] += r.AllocObjects
		}
	}
	return out
}

// timerPlace returns the place in the code that asked for a timer in a client's step. It is empty if there was no timer, or
// one that serves a command.
func timerPlace(stack []uintptr) string {
	place, timer, client := "", "", false
	for frames := runtime.CallersFrames(stack); ; {
		f, more := frames.Next()
		switch name := f.Function; {
		case strings.Contains(name, launched):
			client = true
		case strings.HasPrefix(name, "time."):
			timer = name
		case timer != "" && place == "" && !strings.HasPrefix(name, "runtime."):
			if isAllowed(name) {
				return ""
			}
			place = fmt.Sprintf("%s at %s:%d", timer, filepath.Base(f.File), f.Line)
		}
		if !more {
			break
		}
	}
	if !client {
		return ""
	}
	return place
}

// farewell is the real time that a goroutine with nothing left to do may take to end.
const farewell = 5 * time.Millisecond

// lingering returns what spawnedBy does, without goroutines that end within farewell.
func lingering(goroutine int) (places []string) {
	for until := time.Now().Add(farewell); ; runtime.Gosched() {
		if places = spawnedBy(goroutine); len(places) == 0 || time.Now().After(until) {
			return places
		}
	}
}

// spawnedBy lists the places at which a goroutine, or one that it has started, started others that are still there. Those
// that wait for the scheduler are left out: they serve the command at hand.
func spawnedBy(goroutine int) (places []string) {
	if goroutine == 0 {
		return nil
	}
	family := []int{goroutine}
	for _, g := range stacks() {
		if !slices.Contains(family, g.parent) || isAllowed(g.creator) || strings.Contains(g.text, "explore.(*conn).") {
			continue
		}
		family = append(family, g.id)
		places = append(places, "a goroutine started at "+g.place)
	}
	return places
}

// stack is a goroutine as the runtime prints it.
type stack struct {
	id, parent     int
	creator, place string // the function that started it, and the file with the line
	text           string
}

// stacks lists all goroutines, older ones first.
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
		g.place = filepath.Base(where)
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b stack) int { return a.id - b.id })
	return all
}

// goroutineID returns the id of the calling goroutine.
func goroutineID() (id int) {
	b := make([]byte, 64)
	_, _ = fmt.Sscanf(string(b[:runtime.Stack(b, false)]), "goroutine %d ", &id)
	return id
}
