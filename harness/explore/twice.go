package explore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// This file runs some schedules twice before a search, and ends the search if a client behaves differently.

// DefaultRunTwice is how many schedules to run twice in order to find most nondeterministic clients.
const DefaultRunTwice = 50

// runTwice runs some schedules twice each; the spec says how many. It ends the search if the two runs of a schedule
// differ.
func (s *search) runTwice(ctx context.Context, w *world) {
	if s.spec.RunTwice == 0 {
		return
	}
	why := ""
	err := catchPanics(func() (err error) {
		why, err = s.firstDifference(ctx, w)
		return err
	})
	switch {
	case err != nil:
		s.fail(err)
	case why != "":
		s.stop(why + remedy(s.spec.Program))
	}
}

// firstDifference runs random schedules twice and describes the first step that differs; empty: none.
func (s *search) firstDifference(ctx context.Context, w *world) (string, error) {
	random := Random{Seed: 1, Depth: defaultDepth}
	if s.spec.Random != nil {
		random = *s.spec.Random
	}
	r := runner{spec: s.spec, w: w, traced: true}
	b, steps := s.spec.budgets()[0], 0
	for number := 1; number <= s.spec.RunTwice && !s.isEnding(); number++ {
		first, err := r.run(ctx, b, func() strategy.Strategy { return random.draw(s.spec, b, number, steps) })
		if err != nil {
			return "", err
		}
		steps = max(steps, len(first.path))
		second, err := r.replay(ctx, first.budget, first.path)
		if err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, schedule.ErrStopped) {
			return "", err
		}
		if second == nil { // it could not even begin
			return notTheSame + "the second time " + schedule.Why(err), nil
		}
		if why := describeDifference(first, second); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// notTheSame is the beginning of the reason for ending a search before its first schedule.
const notTheSame = "a client behaves differently each time: "

// describeDifference describes the first step that differs between two runs of a schedule: what its client sent, or
// else the answer. If a step was impossible in the second run, the two runs have different steps from there on.
func describeDifference(first, second *execution) string {
	common := 0
	for common < min(len(first.path), len(second.path)) && first.path[common] == second.path[common] {
		common++
	}
	a, b := first.trace.Steps, second.trace.Steps
	diverged := common < len(first.path) || common < len(second.path)
	if diverged { // later probes belong to another schedule
		a, b = a[:min(len(a), len(first.path))], b[:min(len(b), len(second.path))]
	}
	names := newRenaming()
	for i := range min(len(a), len(b)) {
		if diverged && i >= common {
			break
		}
		switch a, b := a[i], b[i]; {
		case !names.same(a.Command, b.Command):
			return fmt.Sprintf(notTheSame+"in step %d, client %d %s the first time, and %s the second time", i+1,
				a.Client, sentText(a.Command), sentText(b.Command))
		case !names.same(a.Reply, b.Reply) && !sameReply(a.Reply, b.Reply) && !enoughAcks(a, b):
			return fmt.Sprintf(notTheSame+"in step %d, client %d's %s is answered %q the first time, and %q the "+
				"second time", i+1, a.Client, a.Command, a.Reply, b.Reply)
		}
	}
	switch {
	case diverged && common < len(a):
		return fmt.Sprintf(notTheSame+"in step %d, client %d %s the first time, and cannot the second time", common+1,
			a[common].Client, sentText(a[common].Command))
	case diverged && common < len(b):
		return fmt.Sprintf(notTheSame+"after step %d all are done the first time, and client %d %s the second time",
			common, b[common].Client, sentText(b[common].Command))
	}
	return ""
}

// sentText says what a client did in a step. The parameter command is the text of the step.
func sentText(command string) string {
	switch {
	case command == "":
		return "did nothing"
	case strings.HasPrefix(command, "waits"), strings.HasPrefix(command, "looks"):
		return command
	}
	return "sent " + command
}

// renaming maps the random tokens of one run to those of another, and back.
type renaming struct{ to, from map[string]string }

func newRenaming() renaming { return renaming{map[string]string{}, map[string]string{}} }

// pair reports whether token a of one run corresponds to token b of the other: they are paired already, or neither of
// them has a partner. In the second case pair makes them partners.
func (r renaming) pair(a, b string) bool {
	to, known := r.to[a]
	from, taken := r.from[b]
	if known || taken {
		return to == b && from == a
	}
	r.to[a], r.from[b] = b, a
	return true
}

// shortestToken is the smallest length of a word that may be a random token.
const shortestToken = 8

// same reports whether two texts differ only in tokens, which map one to one.
func (r renaming) same(a, b string) bool {
	x, y := tokens(a), tokens(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !r.sameToken(x[i], y[i]) {
			return false
		}
	}
	return true
}

func tokens(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(" ,;:\"'()", c) })
}

func (r renaming) sameToken(a, b string) bool {
	if min(len(a), len(b)) < shortestToken && !(clipped(a) && clipped(b)) || isNumber(a) || isNumber(b) {
		return false
	}
	return r.pair(a, b)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789.+-") == "" }
