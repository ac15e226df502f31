package reports

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// suiteFacts returns lines that say when a suite ran, on which servers, and how many runs it made. The servers of
// shards are in shardFacts.
func suiteFacts(s tally.Suite) (all []fact) {
	if !s.Started.IsZero() {
		all = append(all, fact{"started", s.Started.UTC().Format("2006-01-02 15:04 UTC")})
	}
	if len(s.Shards) == 0 {
		all = append(all, serverFacts(s)...)
		if s.Version != "" {
			all = append(all, fact{"doublegrant", strings.TrimPrefix(s.Version, "doublegrant ")})
		}
	}
	t := s.Total()
	all = append(all, fact{"runs", units.Count(int64(t.Runs))})
	if t.Ops > 0 {
		all = append(all, fact{"operations", units.Count(t.Ops)})
	}
	return append(all, fact{"took", units.Duration(s.Elapsed.Round(time.Second))})
}

// serversOf says when a suite began, and on which servers it ran. It is empty if neither is known.
func serversOf(s tally.Suite) string {
	var words []string
	if !s.Started.IsZero() {
		words = append(words, "started "+s.Started.UTC().Format("2006-01-02 15:04 UTC"))
	}
	for _, f := range serverFacts(s) {
		words = append(words, f.Value)
	}
	return strings.Join(words, ", ")
}

// serverFacts returns the server of each platform.
func serverFacts(s tally.Suite) (all []fact) {
	for _, platform := range slices.Sorted(maps.Keys(s.Servers)) {
		name := "server"
		if len(s.Servers) > 1 {
			name += ", " + platform
		}
		all = append(all, fact{name, s.Servers[platform]})
	}
	return all
}

// advice says what to do about a run that was not as expected. It is empty for other runs.
func advice(r tally.Run) string {
	if r.Unplanned != "" && (r.Ending == tally.NotMet || r.Ending == tally.Undecided) {
		r.Unplanned = ""
		return analysis.RemedyUncaused + " If it ends like this without such a failover: " + advice(r)
	}
	if r.Limit != "" {
		return adviceOnLimit(r)
	}
	switch r.Ending {
	case tally.Failed:
		return "Nothing was judged. doublegrant doctor says what this machine lacks; run it again when that is there."
	case tally.Undecided:
		return "Give the run what it lacked: more time, more clients, or a machine that is less busy. Then run it again."
	case tally.NotMet:
		return adviceOnFindings(r)
	}
	return ""
}

// adviceOnLimit says what to look at if failovers exceeded a limit, or were not measured.
func adviceOnLimit(r tally.Run) string {
	if r.Ending == tally.Undecided {
		return "Give the run a fault that moves the primary, such as kill-primary, and clients that ask often enough to " +
			"measure it. Then run it again."
	}
	s := "See in the report's waterfall which stage takes longest: up to +sdown it is downAfter of the Sentinels, up to " +
		"+elected-leader their vote, up to \"takes writes\" the promotion."
	if r.Limit == string(analysis.Writable) || r.Limit == analysis.NoAnswers {
		s += " What comes after that is the client library, which has to notice and to connect again."
	}
	return s + " All of them take longer on a busy machine."
}

// adviceOnFindings returns the remedies for the classes of violations that a run found unexpectedly. If all of them
// were expected, and only their numbers were not, it returns the remedies for all that the run found.
func adviceOnFindings(r tally.Run) string {
	var unexpected, all []string
	for _, doc := range harness.Classes() {
		remedy := doc.Remedy
		if mayHaveFailedOver(r) {
			remedy = doc.Remedies()
		}
		if names(r.Found, doc.Class) && remedy != "" {
			all = append(all, remedy)
			if !names(r.Expected, doc.Class) {
				unexpected = append(unexpected, remedy)
			}
		}
	}
	switch {
	case len(unexpected) > 0:
		return strings.Join(unexpected, " ")
	case len(all) > 0:
		return strings.Join(all, " ")
	}
	return "What was expected did not show. Give the run more time or clients, or list the class under may if it need " +
		"not show each time."
}

// mayHaveFailedOver reports whether the run had a failover, or may have had one: its command is unknown, or has a flag
// that can cause failovers.
func mayHaveFailedOver(r tally.Run) bool {
	return len(r.Failovers) > 0 || r.Command == "" || slices.ContainsFunc([]string{"--nemesis", "--failovers", "--plan"},
		func(flag string) bool { return strings.Contains(r.Command, flag) })
}

// names reports whether a text such as "12 double-grant and 3 stolen-release" names the class c.
func names(text string, c harness.Class) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,:", r) }),
		string(c))
}
