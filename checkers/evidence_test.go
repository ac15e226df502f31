package checkers

import (
	"flag"
	"fmt"
	"html"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// update is a flag that rewrites testdata/evidence.txt. Read what has changed.
var update = flag.Bool("update", false, "write testdata/evidence.txt anew")

// evidence holds histories. testdata/evidence.txt has all that a checker says about each: reason, figures, and every
// anomaly with its operations and spans.
var evidence = []struct {
	name string
	c    harness.Checker
	h    harness.History
}{
	{"two leases", Mutex(), of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20))},
	{"two leases, with drift", Mutex(), drifting(0.1, of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20)))},
	{"a promised end", Mutex(), of(promising(7, acquire(0, "a", 1, 2, 10)), acquire(1, "b", 3, 4, 20))},
	{"a release", Mutex(), of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20), release(0, "a", 6, 7))},
	{"the second one's release comes first", Mutex(),
		of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100), release(1, "b", 6, 7), release(0, "a", 9, 10))},
	{"no TTL", Mutex(), of(acquire(0, "a", 1, 2, 0), acquire(1, "b", 3, 4, 0))},
	{"no TTL, and a release", Mutex(),
		of(acquire(0, "a", 1, 2, 0), acquire(1, "b", 3, 4, 20), release(0, "a", 30, 31))},
	{"an extended hold", Mutex(), of(acquire(0, "a", 1, 2, 10), extend(0, "a", 3, 4, 20), acquire(1, "b", 15, 16, 20))},
	{"extended while the other was granted", Mutex(),
		of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 2, 5, 10), extend(0, "a", 4, 9, 20))},
	{"extended after the other was granted", Mutex(),
		of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 5, 10), extend(0, "a", 6, 7, 9))},
	{"extended by the harness", Mutex(), of(acquire(0, "a", 1, 2, 10), byHarness(extend(0, "p", 3, 4, 10)))},
	{"a release under a new client id", Mutex(),
		of(acquire(0, "a", 1, 2, 30), info(extend(0, "a", 3, 4, 30)), acquire(1, "b", 5, 6, 20),
			release(3, "a", 8, 9))},
	{"the second one's answer after its own lease", Mutex(), of(acquire(0, "a", 1, 5, 30), acquire(1, "b", 6, 20, 10))},
	{"a stolen release", Mutex(), of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 12, 13, 30), release(0, "a", 14, 15),
		acquire(2, "c", 16, 17, 30), release(1, "b", 20, 21), release(2, "c", 21, 22))},
	{"a stolen release, where both had extended", Mutex(),
		of(acquire(0, "a", 1, 2, 10), extend(0, "a", 5, 6, 10), acquire(1, "b", 16, 17, 30),
			extend(1, "b", 17, 18, 30), release(0, "a", 19, 20), acquire(2, "c", 21, 22, 30), release(1, "b", 23, 24))},
	// A grant that is excluded at equal instants: the anomaly has only the operations that suffice to show it.
	{"a renewal answered when the other's lease may be over", Mutex(),
		of(acquire(0, "a", 1, 2, 30), extend(0, "a", 3, 8, 30), acquire(1, "b", 4, 10, 4))},
	{"a lease over when the other is granted", Mutex(),
		of(acquire(0, "a", 1, 2, 9), extend(0, "a", 3, 8, 30), acquire(1, "b", 4, 10, 4))},
	{"a lease over when the next but one renewal and the other return", Mutex(),
		of(acquire(0, "a", 1, 2, 9), extend(0, "a", 2, 3, 40), extend(0, "a", 3, 10, 40), acquire(1, "b", 4, 10, 4))},
	{"no anomaly, without an extend", Mutex(), of(acquire(0, "a", 1, 2, 10))},
	{"no anomaly, with an extend", Mutex(), of(acquire(0, "a", 1, 2, 10), extend(0, "a", 3, 4, 10))},
	{"torn", Mutex(), torn(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 6, 100))},

	{"lost in silence, and released by the next owner", Owners(),
		of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 12, 13, 10), release(1, "b", 14, 15),
			extend(0, "a", 16, 17, 10))},
	{"a rightful owner is refused", Owners(),
		of(acquire(0, "a", 1, 2, 20), withErr(harness.NotMine, fail(release(0, "a", 5, 6))),
			withErr(harness.Held, fail(acquire(2, "c", 8, 9, 20))))},

	{"who asked before the last grant left nothing behind", Stuck(),
		of(info(acquire(1, "x", 1, 2, 10)), acquire(0, "a", 3, 4, 10), probe(5, 6), probe(40, 41))},
	{"who asked at that time may have", Stuck(),
		of(info(acquire(1, "x", 1, 3, 10)), acquire(0, "a", 3, 4, 10), probe(40, 41))},
	{"a crash after the last grant, and a probe after the violation", Stuck(),
		of(info(acquire(1, "x", 1, 2, 10)), acquire(0, "a", 3, 4, 10),
			info(acquire(1, "b", 15, 26, 10)), probe(40, 41), info(probe(50, 60)))},
	{"not decided", Stuck(), of(acquire(0, "a", 1, 2, 100), probe(50, 51))},

	{"against the largest", Fence(), of(token("5", acquire(2, "c", 1, 2, 10)), token("90", acquire(0, "a", 2, 3, 10)),
		token("7", acquire(1, "b", 5, 6, 10)))},
	{"a token that is no number", Fence(),
		of(token("5", acquire(0, "a", 1, 2, 9)), token("x", acquire(1, "b", 3, 4, 9)))},

	{"a mark for ever", Dedup(), of(claim(0, 1, 2, 10), claim(1, 3, 4, 0))},
	{"two messages, against the earliest mark in force", Dedup(),
		of(claim(0, 1, 2, 100), on("n", claim(1, 1, 3, 100)), claim(1, 3, 4, 100), claim(2, 3, 5, 100))},
	{"a confirmed message", Dedup(), of(claim(1, 1, 2, 3), claim(0, 5, 6, 3), confirm(0, 7, 8, 100),
		claim(2, 10, 11, 3))},
	{"the claim of another worker is not what was confirmed", Dedup(),
		of(claim(1, 1, 2, 3), confirm(0, 7, 8, 100), claim(2, 10, 11, 3))},
	{"seen only", Dedup(), of(seen(claim(0, 1, 2, 10)))},

	{"a crash, and a claim after it", Delivery(),
		of(seen(claim(1, 0, 1, 3)), dead(claim(0, 1, 2, 3)), claim(2, 3, 4, 3), asked(8, 9, 3),
			info(asked(10, 11, 3)))},
	{"a mark without an end, and one whose claim was not answered", Delivery(),
		of(claim(0, 1, 2, 3), withErr("timeout", info(on("n", claim(1, 1, 2, 3)))),
			look(4, 5, 0), on("n", look(4, 5, 1)), on("n", asked(5, 6, 3)))},
	{"claimed by nobody", Delivery(), of(seen(claim(1, 0, 1, 3)), asked(2, 3, 3))},
	{"one of two messages lost", Delivery(),
		of(claim(0, 1, 2, 3), asked(4, 5, 3), on("n", claim(0, 1, 2, 3)), on("n", told(asked(6, 7, 3))),
			on("n", asked(11, 12, 3)))},
	{"not decided", Delivery(), of(claim(0, 1, 2, 5), byHarness(fail(claim(0, 20, 21, 5))))},

	{"everybody proposes 23, and the script compares strings", Sequence(), of(proposals()...)},
	{"the first of the largest", Sequence(), of(next(0, 1, 2, "5"), next(1, 3, 4, "5"), next(0, 5, 6, "3"))},
	{"the first duplicate of two sequences", Sequence(), of(next(0, 1, 2, "1"), next(0, 3, 4, "2"), next(0, 5, 6, "2"),
		on("b", next(0, 7, 8, "1")), on("b", next(0, 9, 10, "1")))},
	{"the first duplicate of two sequences, the other way", Sequence(),
		of(on("b", next(0, 1, 2, "1")), on("b", next(0, 3, 4, "1")),
			next(0, 5, 6, "1"), next(0, 7, 8, "2"), next(0, 9, 10, "2"))},
	{"none twice", Sequence(), of(next(0, 1, 2, "5"), next(1, 3, 4, "6"))},

	{"went back twice, and without an end", Stored(),
		of(inspect(1, 2, "100", 50), next(0, 3, 4, "120"), inspect(5, 6, "23", 0), inspect(7, 8, "", 0))},

	{"a stale write, against the latest owner", Holders(),
		of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 20, 21, 10), guarded(1, "b", 7, 22, 23),
			fail(guarded(0, "a", 5, 24, 25)), acquire(2, "c", 30, 31, 10), guarded(2, "c", 9, 32, 33),
			guarded(0, "a", 8, 34, 35))},
	{"by nobody who has the lock", Holders(), of(guarded(0, "a", 1, 3, 4))},

	{"a run of lost writes", Writes(), of(add(0, 1, 1, 2), info(add(0, 2, 3, 4)), add(3, 3, 5, 6), read(7, 8, ""))},
	// A run of lost writes that ends is reported at once, the others at the end.
	{"two runs, the second ends first", Writes(),
		of(add(0, 1, 1, 2), add(1, 2, 1, 3), add(1, 3, 3, 4), add(1, 4, 5, 6), add(0, 5, 6, 7), read(8, 9, "4"))},
	{"a partition", Writes(), partitioned()},
	// A write acknowledged just before a kill is lost by the kill, so its anomaly reaches up to it.
	{"before a kill", Writes(), during(of(add(0, 1, 1, 2), add(0, 2, 3, 4), read(900, 901, "1")),
		harness.Fault{Name: "kill", Start: 6, Active: 7, Heal: 20, End: 30},
		harness.Fault{Name: "kill", Start: 60, Active: 70, Heal: 80, End: 90})},
	{"updates of what locks guard are counted apart", Writes(), of(
		add(0, 1, 1, 2), add(1, 2, 1, 2), read(9, 9, "1"), // by a rider
		guarded(0, "a", 1, 1, 2), guarded(1, "b", 2, 3, 4), guarded(2, "c", 3, 5, 6), guarded(0, "d", 4, 7, 8),
		fail(guarded(1, "e", 5, 7, 8)), on(harness.Guarded("k"), read(9, 9, "1-2,4")))},

	{"porcupine agrees", unhurried(opinion{}),
		of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100), extend(0, "a", 5, 6, 100))},

	{"all open", Gates(), soak()},
	{"the clocks of generators", Gates(), soakBut(func(h *harness.History) {
		h.Events = []harness.Event{{Kind: harness.EventClockBound, Node: "generator 1", Detail: "1ms"}}
	})},
	{"everything is missing", Gates(), soakBut(func(h *harness.History) {
		h.End, h.Faults[0].Proved, h.Meta.Kinds = nil, false, append(h.Meta.Kinds, harness.Claim)
	})},
}

func during(h harness.History, faults ...harness.Fault) harness.History {
	h.Faults = faults
	return h
}

// proposals draws 23 to 100, and then 23 again: a script that compares strings takes 23 for larger than 100.
func proposals() []harness.Op {
	return append(draws(78, testWorkers, func(i int) string { return strconv.Itoa(23 + i) }), next(0, 780, 785, "23"))
}

// partitioned cuts workers 0 and 2, which are in group 0, off from 1 s to 3 s; worker 1 is in group 1.
func partitioned() harness.History {
	at := func(client, value int, ms time.Duration) harness.Op {
		return add(client, value, ms*time.Millisecond, ms*time.Millisecond)
	}
	return during(of(
		at(0, 0, 500), at(1, 1, 600), // before
		at(0, 2, 1500), at(1, 3, 1600), at(2, 4, 2500), info(at(1, 5, 2600)), at(0, 6, 2900), // during
		at(0, 7, 3500), fail(at(0, 8, 3600)),
		read(9*time.Second, 9*time.Second, "0,1,3,5,6-7"),
	), harness.Fault{Name: "partition", Start: time.Second, Active: time.Second, Heal: 3 * time.Second,
		End: 4 * time.Second, Groups: []int{0}})
}

func TestEvidence(t *testing.T) {
	var b strings.Builder
	for _, e := range evidence {
		g, found := judge(t, e.c, e.h)
		fmt.Fprintf(&b, "%s: %s\n  %s: %s\n", e.c.Name(), e.name, g.Verdict, g.Reason)
		var figures []string
		for _, f := range g.Figures {
			figures = append(figures, strings.TrimSpace(fmt.Sprintf("%s %.12g %s", f.Name, f.Value, f.Unit)))
		}
		fmt.Fprintf(&b, "    %s\n", strings.Join(figures, ", "))
		for _, s := range g.Situations {
			fmt.Fprintf(&b, "    %d times: %s\n", s.Count, s.Name)
			writeOps(&b, s.Example)
		}
		for _, a := range found {
			fmt.Fprintf(&b, "  %d %s of %s, %v to %v, certified: %v\n    %s\n", a.Violations(), a.Class, a.Key, a.From,
				a.To, a.Certified, a.Note)
			writeOps(&b, a.Ops)
			for _, s := range a.Spans {
				fmt.Fprintf(&b, "      span of client %d (owner %d) %s %v to %v %s\n", s.Client, s.Owner, s.Kind,
					s.From, s.To, s.Until)
			}
			for _, o := range a.Overlaps() {
				fmt.Fprintf(&b, "      overlap of client %d (owner %d) %v to %v %s\n", o.Client, o.Owner, o.From, o.To,
					o.Until)
			}
		}
		b.WriteString("\n")
	}
	const golden = "testdata/evidence.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(),
		"read the difference; if it is right: go test ./checkers -run Evidence -update")
}

func writeOps(b *strings.Builder, ops []harness.Op) {
	for _, x := range ops {
		fmt.Fprintf(b, "      %s\n", html.UnescapeString(describeMetadata(x)))
	}
}

// declared lists the figures of figures.go.
var declared = []harness.Metric{
	figureGrants, figureCertain, figureReleases, figureKeys, figureExtends,
	figureTokens, figureFenceRegressions,
	figureGuarded, figureGuardedRefused, figureLate, figureStale,
	figureExtendsJudged, figureReacquired, figureRefusals, figureRefusedOwners,
	figureTried, figureStuck, figureProbes, figureInconclusive,
	figureMessages, figureDuplicates, figureDuplicateRate, figureConfirms,
	figureAsked, figureOutlived, figureLooked, figureExcused, figureLostMessages, figureImmortal,
	figureCalls, figureDuplicateNumbers, figureRegressions, figureFirstDuplicate,
	figureInspections, figureNumbers, figureRestarts, figureNotStored, figureTTLsLost,
	FigureAdded, FigureLost, FigureLostPercent, figureUpdates, FigureLostUpdates, figureLostUpdatesPercent,
	FigureRefused, FigureUnknown, FigureRecovered, figureGroupAdded, figureGroupLost, figureCutAdded, figureOthersAdded,
	figureCutLost, figureOthersLost, figureLostRate, figureFirstLost, figureLastLost,
	FigureOps, figureOK, figureFailed, FigureUnanswered, figureContended, figureClockBound,
	figureKeysAsked, figureKeysAgreed, figureKeysIllegal, figureKeysLarge, figureKeysSlow,
	figureCertified, figureCertifyAsked,
}

// declaration returns the index in declared of a figure, or -1. Figures of client groups have the group's number in
// their names.
func declaration(checker, name string) int {
	return slices.IndexFunc(declared, func(m harness.Metric) bool {
		before, after, group := strings.Cut(m.Name, "%d")
		return (m.Checker == "" || m.Checker == checker) &&
			(m.Name == name || group && strings.HasPrefix(name, before) && strings.HasSuffix(name, after))
	})
}

// Every figure that figures.go declares is reported for some history of the evidence, and no other figure is.
func TestEveryFigureIsDeclaredAndReported(t *testing.T) {
	reported := map[int]bool{}
	for _, e := range evidence {
		g, _ := judge(t, e.c, e.h)
		require.NotContains(t, g.Reason, "panicked")
		for _, f := range g.Figures {
			i := declaration(g.Checker, f.Name)
			require.GreaterOrEqual(t, i, 0, "%s reports %q, which figures.go does not declare", g.Checker, f.Name)
			require.Equal(t, declared[i].Unit, f.Unit, f.Name)
			reported[i] = true
		}
	}
	for i, m := range declared {
		require.True(t, reported[i], "the checker %s never reports %q", m.Checker, m.Name)
	}
	text, err := os.ReadFile("figures.go")
	require.NoError(t, err)
	require.Len(t, declared, strings.Count(string(text), " = harness.Metric{"),
		"the list of those that figures.go declares is whole")
}
