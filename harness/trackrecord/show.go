package trackrecord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// Ending is the result of showing a bug.
type Ending string

// The endings.
const (
	Shown   Ending = "shown"     // the bug was found as the entry states, and not in the version that should lack it
	Refuted Ending = "refuted"   // another class or none was found, or the version that should lack the bug has it
	Unsaid  Ending = "undecided" // a search or run came to no verdict
	Missing Ending = "missing"   // a version, an interpreter, a package or a server is missing
)

// Outcome is the result of showing a bug. The zero value stands for a bug that was not tried.
type Outcome struct {
	Bug    bugs.Bug `json:"bug"`
	Ending Ending   `json:"ending"`
	Why    string   `json:"why,omitempty"` // reason for the ending; empty if the bug was shown
	Shown  Trial    `json:"shown"`
	// the trial of the version that should lack the bug; nil: there is no such version, or it was not tried
	Holds *Trial `json:"holds,omitempty"`
}

// Trial is a search or run of one build.
type Trial struct {
	Version string          `json:"version"`
	Found   []harness.Class `json:"found,omitempty"`
	// number of steps of the smallest counterexample of the stated class; 0: the trial is a run
	Steps   int                 `json:"steps,omitempty"`
	Took    time.Duration       `json:"took"` // time that it took, without building
	Report  string              `json:"report,omitempty"`
	Verdict harness.Verdict     `json:"verdict"`
	Said    string              `json:"said"` // the verdict in one sentence
	Search  reports.Exploration `json:"-"`    // the search; zero value: the trial is a run
}

// Show shows a bug. It returns an error only if the harness or its environment failed, or ctx was cancelled. If
// something is missing on this machine, the Outcome says so.
func Show(ctx context.Context, b bugs.Bug, o results.Options) (out Outcome, err error) {
	out.Bug = b
	if out.Shown, err = try(ctx, b, b.Shown, o); err != nil {
		return out.missing(err)
	}
	switch t := out.Shown; {
	case slices.Contains(t.Found, b.Class):
		if extra := unexpected(t.Found, b); len(extra) > 0 {
			return out.end(Refuted, "%s %s also shows %v, which the entry does not state", b.Library, t.Version, extra)
		}
	case t.Verdict == harness.Unknown:
		return out.end(Unsaid, "%s %s: %s", b.Library, t.Version, t.Said)
	case len(t.Found) > 0:
		return out.end(Refuted, "%s %s shows %v, not %s", b.Library, t.Version, t.Found, b.Class)
	default:
		return out.end(Refuted, "%s %s: %s", b.Library, t.Version, t.Said)
	}
	if b.Holds == nil {
		return out.end(Shown, "")
	}
	fixed, err := try(ctx, b, *b.Holds, o)
	if err != nil {
		return out.missing(err)
	}
	out.Holds = &fixed
	switch {
	case slices.Contains(fixed.Found, b.Class):
		return out.end(Refuted, "%s %s, which has to hold, shows %s, too", b.Library, fixed.Version, b.Class)
	case fixed.Verdict != harness.Valid && len(fixed.Found) == 0:
		return out.end(Unsaid, "%s %s: %s", b.Library, fixed.Version, fixed.Said)
	}
	return out.end(Shown, "")
}

// end returns the outcome with its ending, and the reason for it.
func (out Outcome) end(e Ending, why string, about ...any) (Outcome, error) {
	out.Ending, out.Why = e, fmt.Sprintf(why, about...)
	return out, nil
}

// missing returns the outcome with the ending Missing. If err does not say that something is missing, it returns err.
func (out Outcome) missing(err error) (Outcome, error) {
	if !errors.Is(err, ErrMissing) {
		return out, err
	}
	return out.end(Missing, "%v", err)
}

// unexpected lists the classes that were found and that the entry does not state.
func unexpected(found []harness.Class, b bugs.Bug) (extra []harness.Class) {
	for _, c := range found {
		if c != b.Class && !slices.Contains(b.Also, c) {
			extra = append(extra, c)
		}
	}
	return extra
}

// try makes the entry's search or run with one build.
func try(ctx context.Context, b bugs.Bug, build bugs.Build, o results.Options) (t Trial, err error) {
	command, err := Prepare(ctx, b, build)
	if err != nil {
		return t, err
	}
	e, err := entry(b, build, command)
	if err != nil {
		return t, err
	}
	t.Version = build.Version
	began := time.Now()
	if e.Explore != nil {
		err = t.search(ctx, b, build, e, o)
	} else {
		err = t.load(ctx, e, o)
	}
	t.Took = time.Since(began)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return t, err
}

// entry returns the run that a bug's entry asks for, in the form of a suite's entry.
func entry(b bugs.Bug, build bugs.Build, command []string) (e suite.Entry, err error) {
	run := maps.Clone(b.Run)
	run["name"] = b.ID + " " + build.Version
	run["adapter"] = workloads.Adapter{Name: b.ID, Command: command}
	text, err := yaml.Marshal(map[string]any{"name": b.ID, "runs": []any{run}})
	if err != nil {
		return e, err
	}
	if e, err = suite.DecodeRun(text); err != nil {
		return e, fmt.Errorf("the run of %s: %w", b.Name(), err)
	}
	return e, nil
}

// search makes the searches of a bug's entry: one, or for a sequence one for each regime (how callers propose numbers).
func (t *Trial) search(ctx context.Context, b bugs.Bug, build bugs.Build, e suite.Entry, o results.Options) error {
	for _, s := range e.Searches() {
		out, err := results.Explore(ctx, s, o)
		if err != nil {
			return err
		}
		x := named(out.Exploration, b, build)
		first := t.Said == ""
		for _, c := range x.Result.Counterexamples {
			if !slices.Contains(t.Found, c.Anomaly.Class) {
				t.Found = append(t.Found, c.Anomaly.Class)
			}
			if c.Anomaly.Class == b.Class && (t.Steps == 0 || c.Length() < t.Steps) {
				t.Steps, t.Search, t.Report, t.Said = c.Length(), x, out.Dir, x.Sentence()
			}
		}
		if t.Verdict = x.Verdict(); !first {
			t.Verdict = harness.Worst(t.Verdict, x.Verdict())
		}
		if first || t.Steps == 0 && x.Verdict() == t.Verdict {
			t.Search, t.Report, t.Said = x, out.Dir, x.Sentence()
		}
	}
	return nil
}

// named returns the search x under the name of the bug. It removes what is of no use on another machine: paths of
// programs, and versions of the libraries that doublegrant links.
func named(x reports.Exploration, b bugs.Bug, build bugs.Build) reports.Exploration {
	x.Name, x.Variant, x.Command, x.Replay = b.Name(), b.Name(), "doublegrant reproduce "+b.Name(), ""
	x.Doc, x.Source = b.Library+" "+build.Version+" ("+b.Language+"), unmodified", b.Package
	// doublegrant and the server come first.
	x.Versions = append(slices.Clone(x.Versions[:min(2, len(x.Versions))]), pinned(b, build)...)
	return x
}

// pinned lists the versions of the library and of all else that a build pins, by name.
func pinned(b bugs.Bug, build bugs.Build) []reports.Version {
	all := []reports.Version{{Name: b.Package, Version: build.Version}}
	for _, name := range slices.Sorted(maps.Keys(build.With)) {
		all = append(all, reports.Version{Name: name, Version: build.With[name]})
	}
	return all
}

// load makes the run of a bug's entry.
func (t *Trial) load(ctx context.Context, e suite.Entry, o results.Options) error {
	p := e.Plan
	p.Expect = plan.Expected{}
	out, err := results.Execute(ctx, p, o)
	if err != nil {
		return err
	}
	j := out.Report.Judged
	for class := range j.Totals {
		t.Found = append(t.Found, class)
	}
	slices.Sort(t.Found)
	t.Verdict, t.Report, t.Said = j.Verdict, out.Dir, out.Report.Sentence()
	return nil
}
