package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file decides whether a search that found nothing has shown anything.

// vacuous says why a search proves nothing, although it ran every schedule and found no violation; empty: it proves
// something.
func (s *search) vacuous(worlds []*world, background string) string {
	b := s.spec.budgets()[0]
	switch strays := s.seen.OutOfTurn + countOutOfTurn(worlds); {
	case s.seen.Coverage.GrantedFree != "":
		return s.seen.Coverage.GrantedFree +
			": whatever it does, it is not part of the search; send its commands through that client"
	case s.seen.Coverage.Subscribed && !s.seen.Coverage.AskedForMessage:
		return "it subscribed without ever asking for a message, so what it reads there is not part of the search: " +
			"see Subscriptions in workloads/adapters/README.md"
	case background != "":
		return "it does something by itself, which is not part of the search: " + background +
			". Wait by harness.Sleep and " +
			"read harness.Now in the goroutine that was called; start a watchdog with harness.Go, or run it under load"
	case strays > 0:
		return describeOutOfTurn(strays, worlds, s.spec.Program)
	case s.neverOK() != "":
		return fmt.Sprintf("no %s ever succeeded", s.neverOK())
	case s.seen.Coverage.SoleOwner() > 0:
		return fmt.Sprintf("only client %d ever acquired anything, so no two owners met",
			s.seen.Coverage.SoleOwner())
	case s.spec.Program.Fenced && !s.seen.Coverage.Tokens:
		return "no grant had a fencing token: each was empty"
	case b.Expiries > 0 && !s.spec.Program.Timeless && !s.seen.Coverage.Expired:
		return "no lease ever ended: no grant and no key had one"
	case b.Crashes > 0 && !s.seen.Coverage.Crashed:
		return "no client could crash: each is done with its first command"
	case s.seen.Coverage.TooManyEnds:
		return fmt.Sprintf("more than %d leases with different ends ran at one time, and time passed only to the "+
			"ends of the first", maxInstants/2)
	case s.seen.Coverage.ClockRead && !worlds[0].SetsClocks():
		return "it looks at a clock, and the servers' clocks cannot be set: " + worlds[0].WhyNoClock
	case s.unmet() != "":
		return s.unmet()
	case s.seen.Doubt != "":
		return "some schedule could not be judged: " + s.seen.Doubt
	}
	return ""
}

// neverOK returns a kind of Program.Kinds that never succeeded; empty: all succeeded.
func (s *search) neverOK() harness.Kind {
	for _, k := range s.spec.Program.Kinds {
		if !s.seen.OKKinds[k] {
			return k
		}
	}
	return ""
}

// describeOutOfTurn names the commands that clients sent outside of their turns, and says what to do about them.
func describeOutOfTurn(n int64, worlds []*world, p interleave.Program) string {
	var named []string
	for _, w := range worlds {
		for _, text := range w.strays {
			if len(named) < mostStrays && !slices.Contains(named, text) {
				named = append(named, text)
			}
		}
	}
	said := fmt.Sprintf("%d commands were sent when no operation of their client was under way", n)
	if len(named) > 0 {
		said += " (" + strings.Join(named, ", ") + ")"
	}
	if p.Gate == interleave.TCP {
		return said + ", which is not part of the search: let the program send nothing before its first operation " +
			"but what it connects with, nothing between an answer and the next request, and ask to start each " +
			"thread: see In a search, and Threads, in workloads/adapters/README.md"
	}
	return said + ", so by a goroutine or timer, which is not part of the search: start it with harness.Go, or run " +
		"it under load instead"
}

// countOutOfTurn counts the commands that clients sent outside of their turns.
func countOutOfTurn(worlds []*world) (n int64) {
	for _, w := range worlds {
		n += w.outOfTurn
	}
	return n
}
