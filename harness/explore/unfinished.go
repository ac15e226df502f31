package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file describes, for a search that ended early, what it has covered, what most of the remaining work is, and
// what to ask for instead.

// share counts the planned schedules that have a certain kind of choice, and names the flag that would avoid them.
type share struct {
	of, flag string
	has      func(interleave.Choice) bool
	count    int
}

func shares() []share {
	kind := func(k interleave.Kind) func(interleave.Choice) bool {
		return func(c interleave.Choice) bool { return c.Kind() == k }
	}
	is := func(one interleave.Choice) func(interleave.Choice) bool {
		return func(c interleave.Choice) bool { return c == one }
	}
	return []share{
		{of: "a crash", flag: "--crashes 0", has: interleave.Choice.IsCrash},
		{of: "the end of a lease, or a stop before it", flag: "--expiries 0", has: interleave.Choice.IsTime},
		{of: "a lost answer", flag: "--lost-answers 0", has: kind(interleave.LosesAnswers)},
		{of: "a lost command", flag: "--lost-commands 0", has: kind(interleave.LosesCommands)},
		{of: "a late command", flag: "--late 0", has: kind(interleave.Delays)},
		{of: "a failover", flag: "--failovers 0", has: is(interleave.StopReplication)},
		{of: "a script flush", flag: "--flushes 0", has: is(interleave.FlushScripts)},
		{of: "steps of goroutines or subscriptions", has: func(c interleave.Choice) bool { return c.Thread() > 0 }},
	}
}

// moreTime is the factor by which a search should run longer if its time was up.
const moreTime = 5

// mostShares bounds the kinds of choice, and also the flags, in the text that unfinished returns.
const mostShares = 2

// unfinished says what is left of the unfinished part; empty: nothing is left, or what is left is unknown. The caller
// holds s.mu.
func (s *search) unfinished() string {
	f, ok := s.source.(*frontier.Branches)
	if !ok || s.stopped == "" || f.Planned() == 0 || s.spec.Pieces != nil {
		return ""
	}
	text := fmt.Sprintf("%d schedules that are planned in part %d of %d (%v), and those that they plan in turn",
		f.Planned(), s.part, max(s.part, len(s.budgets())),
		interleave.Part{Budget: s.budget, Role: s.spec.roleIn(s.budget)})
	all := shares()
	for i := range all {
		all[i].count = f.Count(all[i].has)
	}
	slices.SortStableFunc(all, func(a, b share) int { return b.count - a.count })
	var have, flags []string
	if s.budget.Clients > 2 {
		flags = append(flags, "--clients 2")
	}
	for _, x := range all {
		if x.count > 0 && len(have) < mostShares {
			have = append(have, fmt.Sprintf("%d %% have %s", 100*x.count/f.Planned(), x.of))
		}
		if x.count > 0 && x.flag != "" && len(flags) < mostShares {
			flags = append(flags, x.flag)
		}
	}
	if len(have) > 0 {
		text += ": " + strings.Join(have, ", ")
	}
	var advice []string
	if s.outOfTime {
		advice = append(advice, fmt.Sprintf("--for %v gives it more time",
			max(time.Second, (moreTime*s.spec.For).Round(time.Second))))
	}
	if len(flags) > 0 {
		advice = append(advice, strings.Join(flags, " and ")+" would leave fewer")
	}
	if len(advice) > 0 {
		text += " (" + strings.Join(advice, "; ") + ")"
	}
	return text
}
