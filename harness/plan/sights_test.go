package plan

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// sight tells how an observer sees one fault act and heal. acts and heals are called until they return nil.
type sight struct {
	before func(s *scene)       // notes the state, and prepares what the fault will change
	acts   func(s *scene) error // sees the fault while it is in force
	heals  func(s *scene) error // sees, once the system is whole, that the fault is over
}

// scene is one fault under observation.
type scene struct {
	*observer
	on      *stage
	f       FaultPlan
	beat    *beat
	targets []string // of the injection

	pids  map[string]int   // before
	lines map[string]*line // opened before
	steps map[int]int64    // of client groups, at the last look
	opens map[int]int64    // of client groups, before
	first string           // the primary, before
}

var errNotYet = errors.New("not yet")

// sights says for each fault of the catalogue, by name, how an observer sees it.
func sights() map[string]sight {
	return map[string]sight{
		"kill-HOST":            {nil, replaced(ended), startedAnew},
		"restart-HOST":         {nil, replaced(ended), startedAnew},
		"restart-HOST-at-once": {nil, startedAnew, startedAnew},
		"pause-HOST": {nil, replaced(onEach(func(s *scene, node string) error {
			return want(s.stopped(node), "%s is not stopped", node)
		})), answering},
		"sleep-HOST":               {nil, silent, answering},
		"clock-step-forward-HOST":  {nil, clockOff(1), clockRight},
		"clock-step-backward-HOST": {nil, clockOff(-1), clockRight},

		"sentinel-failover": {nil, func(s *scene) error {
			now := s.named(s.targets[0])
			return want(now != "" && now != s.first, "%s names %s", s.targets[0], now)
		}, agreed},
		"sentinel-crash-after-election":  {nil, ended, startedAnew},
		"sentinel-crash-after-promotion": {nil, ended, startedAnew},

		"script-flush-HOST":        {loadScript, scriptGone, answering},
		"client-kill-HOST":         {openLines, commandLinesClosed, answering},
		"client-pause-HOST":        {nil, replaced(silent), answering},
		"client-pause-writes-HOST": {nil, readsOnly, writing},
		"memory-pressure-HOST":     {nil, evicting, unlimited},

		"partition-SIDES":   {nil, apart, together},
		"partition-primary": {nil, apart, together},
		"one-way":           {nil, linkCut, linkWorks},
		"cut":               {nil, linkCut, linkWorks},

		"latency":    {nil, slow, linkWorks},
		"bandwidth":  {nil, narrow, linkWorks},
		"slicer":     {nil, sliced, linkWorks},
		"limit-data": {nil, limited, linkWorks},
		"slow-close": {nil, closesLate, linkWorks},

		"crash-clients-HOST":  {nil, openedAnew, allBeat},
		"freeze-clients-HOST": {nil, still, allBeat},
		"skew-clients-HOST":   {nil, skewed(true), skewed(false)},
	}
}

func want(seen bool, format string, args ...any) error {
	if !seen {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// onEach looks at all targets at the same time, since waiting for silence takes a while.
func onEach(look func(s *scene, node string) error) func(*scene) error {
	return func(s *scene) error {
		return errors.Join(await.All(len(s.targets), func(i int) error { return look(s, s.targets[i]) })...)
	}
}

var (
	ended = onEach(func(s *scene, node string) error {
		return want(s.pid(node) == 0, "%s still runs", node)
	})
	startedAnew = onEach(func(s *scene, node string) error {
		if now := s.pid(node); now == 0 || now == s.pids[node] {
			return fmt.Errorf("the process of %s is %d, and was %d", node, now, s.pids[node])
		}
		_, err := s.ask(node, "PING")
		return err
	})
	answering = onEach(func(s *scene, node string) error {
		_, err := s.ask(node, "PING")
		return errors.Join(err, want(!s.stopped(node), "%s is stopped", node))
	})
	silent = onEach(func(s *scene, node string) error {
		reply, err := s.ask(node, "PING")
		return errors.Join(want(err != nil, "%s answers %q", node, reply),
			want(!s.stopped(node), "%s is stopped by a signal", node))
	})
	clockRight = onEach(func(s *scene, node string) error {
		ahead, err := s.ahead(node)
		return errors.Join(err, want(ahead.Abs() < time.Second/2, "the clock of %s is off by %v", node, ahead))
	})
	scriptGone = onEach(func(s *scene, node string) error {
		known, err := s.ask(node, "SCRIPT", "EXISTS", observersScript)
		return errors.Join(err, want(known == "0", "%s still has the script", node))
	})
	unlimited = onEach(func(s *scene, node string) error {
		limit, err := s.ask(node, "CONFIG", "GET", "maxmemory")
		ballast, err2 := s.ask(node, "KEYS", "doublegrant:*")
		return errors.Join(err, err2, want(limit == "maxmemory 0" && ballast == "", "%s has %s, and %q", node, limit,
			ballast))
	})
	evicting = onEach(func(s *scene, node string) error {
		n, err := strconv.Atoi(s.field(node, "stats", "evicted_keys"))
		return errors.Join(err, want(n > 0, "%s has evicted nothing", node))
	})
)

func clockOff(sign time.Duration) func(*scene) error {
	return onEach(func(s *scene, node string) error {
		ahead, err := s.ahead(node)
		return errors.Join(err, want((ahead-sign*s.f.By).Abs() < time.Second, "the clock of %s is off by %v", node,
			ahead))
	})
}

// replaced adds to acts that a primary among the targets is replaced, if any node is left to be promoted.
func replaced(acts func(*scene) error) func(*scene) error {
	return func(s *scene) error {
		if err := acts(s); err != nil || !slices.Contains(s.targets, s.first) || s.count("s") == 0 ||
			len(s.targets) == s.count("r") {
			return err
		}
		for _, node := range s.nodes("s") {
			if now := s.named(node); now != "" && now != s.first { // the bridge may be the one, though it is a target
				return nil
			}
		}
		return fmt.Errorf("no Sentinel names another primary than %s", s.first)
	}
}

// agreed checks that there is one primary, which every Sentinel names.
func agreed(s *scene) error {
	all := s.primaries()
	if len(all) != 1 {
		return fmt.Errorf("the primaries are %v", all)
	}
	for _, node := range s.nodes("s") {
		if s.named(node) != all[0] {
			return fmt.Errorf("%s names %s, and %s is primary", node, s.named(node), all[0])
		}
	}
	return nil
}

// observersScript is the SHA1 of "return 'observer'".
const observersScript = "761ca876024f83815deee2fe66a3c9571ace8f20"

func loadScript(s *scene) {
	for _, node := range s.nodes("r") {
		// scriptGone cannot tell a script that was never loaded from one that is gone
		_, _ = s.ask(node, "SCRIPT", "LOAD", "return 'observer'")
	}
}

// openLines opens two connections to each Redis node: one for commands, and one that subscribes.
func openLines(s *scene) {
	for _, node := range s.nodes("r") {
		for _, kind := range []string{"PING", "SUBSCRIBE"} {
			l, err := s.straight(node)
			if err == nil {
				_, err = l.ask(lookLong, append([]string{kind}, "observer")...)
			}
			if err != nil {
				s.Errorf("%s %s: %v", kind, node, err)
				return
			}
			s.lines[node+kind] = l
		}
	}
}

var commandLinesClosed = onEach(func(s *scene, node string) error {
	if _, err := s.lines[node+"PING"].ask(lookFor, "PING"); err == nil {
		return fmt.Errorf("%s has left the connection for commands open", node)
	}
	_, err := s.lines[node+"SUBSCRIBE"].ask(lookLong, "PING")
	return err // a subscription survives
})

// readsOnly checks that a read is answered and, on a node that accepts writes, that a write is kept waiting.
var readsOnly = onEach(func(s *scene, node string) error {
	if _, err := s.ask(node, "GET", "observer"); err != nil {
		return err
	}
	if s.field(node, "replication", "role") != "master" {
		return nil
	}
	_, err := s.ask(node, "SET", "observer", "1")
	return want(err != nil, "%s has executed a write", node)
})

var writing = onEach(func(s *scene, node string) error {
	if s.field(node, "replication", "role") != "master" {
		return nil
	}
	_, err := s.ask(node, "SET", "observer", "1")
	return err
})

// struck lists the client groups among the targets.
func (s *scene) struck() (all []int) {
	for _, t := range s.targets {
		if group, ok := strings.CutPrefix(t, "g"); ok {
			n, _ := strconv.Atoi(group)
			all = append(all, n)
		}
	}
	return all
}

// openedAnew checks that new clients took the place of those in the groups that were struck.
func openedAnew(s *scene) error {
	for _, g := range s.struck() {
		if now := s.beat.groups[g].opened.Load(); now <= s.opens[g] {
			return fmt.Errorf("no client of g%d was opened anew", g)
		}
	}
	return nil
}

// still waits until each group that was not struck has taken ten more steps, and checks that the others take none
// meanwhile.
func still(s *scene) error {
	var before [clientGroups]int64
	for g := range before {
		before[g] = s.beat.groups[g].steps.Load()
	}
	took := func(g int) int64 { return s.beat.groups[g].steps.Load() - before[g] }
	return s.eventually("others go on", func() error {
		for g := range clientGroups {
			switch struck := slices.Contains(s.struck(), g); {
			case struck && took(g) > 0:
				for g := range before {
					before[g] = s.beat.groups[g].steps.Load()
				}
				return fmt.Errorf("g%d moves", g)
			case !struck && took(g) < 10:
				return fmt.Errorf("g%d does not move", g)
			}
		}
		return nil
	})
}

// allBeat checks that the groups that were struck take steps again.
func allBeat(s *scene) error {
	for _, g := range s.struck() {
		if now := s.beat.groups[g].steps.Load(); now <= s.steps[g] {
			return fmt.Errorf("g%d took no step after the fault", g)
		}
	}
	return nil
}

func skewed(wrong bool) func(*scene) error {
	return func(s *scene) error {
		for g := range clientGroups {
			by := time.Duration(0)
			if wrong && slices.Contains(s.struck(), g) {
				by = s.f.By
			}
			if ahead := time.Duration(s.beat.groups[g].ahead.Load()); (ahead - by).Abs() > 5*time.Second {
				return fmt.Errorf("the clock of g%d is off by %v, want %v", g, ahead, by)
			}
		}
		return nil
	}
}

// closed reports whether an error is the end of a connection, and not silence.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || strings.Contains(fmt.Sprint(err), "reset") ||
		strings.Contains(fmt.Sprint(err), "broken pipe")
}
