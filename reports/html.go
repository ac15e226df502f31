package reports

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

//go:embed *.html.tmpl report.css
var files embed.FS

const (
	maxAnomalies = 20  // the largest number of anomalies that are shown with their operations
	openAnomaly  = 3   // the number of anomalies that are unfolded at first
	maxEvents    = 200 // the largest number of events that are listed
	maxFalls     = 2   // the largest number of failovers that are all drawn; of more, only the slowest is drawn
)

// HTML writes the report as one self-contained page. It loads no other file, runs no script and uses no network.
func HTML(w io.Writer, r Report) error {
	return render(w, "report.html.tmpl", newPage(r))
}

// render fills in one of the embedded templates.
func render(w io.Writer, name string, data any) error {
	t, err := template.New(name).Funcs(helpers()).ParseFS(files, name, "drawing.html.tmpl", "class.html.tmpl",
		"walk.html.tmpl")
	if err != nil {
		return fmt.Errorf("reports: parse %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("reports: render %s: %w", name, err)
	}
	if _, err := w.Write(bytes.Map(printable, b.Bytes())); err != nil {
		return fmt.Errorf("reports: write %s: %w", name, err)
	}
	return nil
}

// printable replaces control characters, which a page must not contain even escaped, and characters that change the
// direction of all text after them.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
		return unicode.ReplacementChar
	}
	return r
}

func helpers() template.FuncMap {
	return template.FuncMap{
		"dur": units.Duration, "took": units.Took, "at": units.At, "after": units.After, "count": units.Count,
		"times": countOrNever, "plain": func(event string) string { return analysis.Milestone(event).Plain() },
		"clip": units.Clip, "rate": units.Rate, "figure": units.Figure, "whole": units.Whole,
		"inc": func(i int) int { return i + 1 }, "css": style, "class": drawing.OutcomeClass,
		"outcome": drawing.OutcomeText, "say": sayFigure, "words": words, "memory": units.Size,
	}
}

// words splits a command line at its blanks, so that a page breaks lines there and not at hyphens. If a "--" were
// broken into two lines, it would look as if it contained a blank.
func words(command string) []string { return strings.Split(command, " ") }

// style returns the stylesheet of every page.
func style() (template.CSS, error) {
	b, err := files.ReadFile("report.css")
	return template.CSS(b), err
}

// page holds the data for the template of a report.
type page struct {
	Report
	Verdict   string
	Sentence  string
	Warnings  []string
	Setup     []fact
	Totals    []fact
	Classes   []classCount
	Anomalies []anomalyView
	Charts    charts
	FaultKey  string // explains the numbers of faults in charts; empty: the charts show names
	Failovers []drawnFailover
	Table     *failoverTable
	Events    []harness.Event
	AllEvents int
}

type fact struct{ Name, Value string }

// Violations returns the number of violations of all classes together.
func (p page) Violations() int64 {
	n := int64(0)
	for _, c := range p.Classes {
		n += c.Count
	}
	return n
}

// Certified returns the number of violations that porcupine, too, found to be violations.
func (p page) Certified() int64 { return int64(p.Judged.Certified) }

type classCount struct {
	Class harness.Class
	Count int64
	Shown int
}

// charts holds the pictures over time; nil if there is nothing to draw.
type charts struct {
	Throughput, Trouble, Groups, Latency *drawing.Drawing
	Hidden                               int     // number of client groups that are not drawn
	Peak                                 float64 // rate, in operations a second, at the top of a group's row
	Width                                time.Duration
}

// drawnFailover is one failover with its picture.
type drawnFailover struct {
	analysis.Failover
	Number  int
	Picture drawing.Drawing
}

// Head returns the failover's cause, its old and its new primary.
func (d drawnFailover) Head() string {
	s := d.Cause()
	switch {
	case len(d.Candidates) > 0:
		s = "after " + s
	case d.Fault >= 0:
		s = fmt.Sprintf("after fault %d, %s", d.Fault+1, s)
	}
	if d.Old != "" && d.New != "" {
		s += ": " + d.Old + " → " + d.New
	}
	return s
}

// Ranges reports whether the length of an outage is given as a range, because clients asked too rarely to measure it.
func (d drawnFailover) Ranges() bool { return d.Outage.IsRange() || d.Writes.IsRange() }

func newPage(r Report) page {
	events := listedEvents(r.History.Events)
	return page{
		Report: r, Verdict: r.Judged.Verdict.String(), Sentence: r.Sentence(), Warnings: r.warnings(),
		Setup: setup(r), Totals: totals(r.Stats), Classes: classCounts(r.Judged), Anomalies: anomalyViews(r),
		Charts:    drawCharts(r),
		FaultKey:  drawing.FaultKey(r.History.Faults),
		Failovers: drawnFailovers(r.Failovers), Table: severalFailovers(r.Failovers),
		Events: events[:min(len(events), maxEvents)], AllEvents: len(events),
	}
}

// listedEvents returns the events that the page lists, sorted by time, since watchers record some of them late. It
// leaves out events about the uncertainty of clocks, which the page has among its figures.
func listedEvents(events []harness.Event) (all []harness.Event) {
	for _, e := range events {
		if e.Kind != harness.EventClockBound {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b harness.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// setup returns what was run, for the lines below the headline.
func setup(r Report) []fact {
	m := r.History.Meta
	first := []string{"variant", "topology", "nemesis"}
	var all []fact
	for _, name := range first {
		all = append(all, fact{name, r.label(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
		if !slices.Contains(first, name) {
			all = append(all, fact{name, r.label(name)})
		}
	}
	all = append(all, fact{"seed", fmt.Sprint(m.Seed)}, fact{"clients", clients(m)},
		fact{"duration", units.Duration(r.Elapsed)})
	if m.Open {
		all = append(all, fact{"pacing", "open: latency counts from when an operation was meant to begin"})
	}
	if !m.Started.IsZero() {
		all = append(all, fact{"started", m.Started.UTC().Format("2006-01-02 15:04 UTC")})
	}
	return all
}

// totals returns the numbers of operations.
func totals(s analysis.Stats) []fact {
	t := s.Totals
	return []fact{
		{"operations", units.Count(t.All())}, {"ok", units.Count(t.OK)}, {"refused (held)", units.Count(t.Refused)},
		{"failed", units.Count(t.Failed)}, {"unknown", units.Count(t.Unknown)}, {"throughput, ok", units.Rate(s.Rate)},
		{"latency p50", units.Took(s.Latency.P50)}, {"latency p99", units.Took(s.Latency.P99)},
	}
}

// clients returns the number of clients, how many of them run a second workload (riders), and the number of groups.
func clients(m harness.Meta) string {
	s := units.Count(int64(m.Workers))
	if riders := m.Workers - m.Clients; m.Clients > 0 && riders > 0 {
		s += fmt.Sprintf(" (%s of them riders)", units.Count(int64(riders)))
	}
	if m.Groups > 1 {
		s += fmt.Sprintf(" in %d groups", m.Groups)
	}
	return s
}

func classCounts(j harness.Judged) []classCount {
	var all []classCount
	for _, c := range classes(j.Totals) {
		one := classCount{Class: c, Count: int64(j.Totals[c])}
		for _, a := range j.Anomalies {
			if a.Class == c {
				one.Shown++
			}
		}
		all = append(all, one)
	}
	return all
}

// anomalyView is one anomaly on the page.
type anomalyView struct {
	harness.Anomaly
	Number  int
	Open    bool
	Page    string
	Picture drawing.Drawing
	Listed  []opView
	Hidden  int                 // number of operations that are not listed
	Legend  []drawing.LegendKey // explains the light bars
	Cut     bool                // the picture leaves out some time
	Two     []string            // for each overlap of two owners, how long both held the key
}

// opView is one row of the table of operations.
type opView struct {
	harness.Op
	Who   string
	Since time.Duration // time since the first Call
	Took  time.Duration
}

func anomalyViews(r Report) []anomalyView {
	var all []anomalyView
	for i, a := range r.Judged.Anomalies[:min(len(r.Judged.Anomalies), maxAnomalies)] {
		v := anomalyView{
			Anomaly: a, Number: i + 1, Open: i < openAnomaly, Page: r.Pages[i],
			Picture: drawing.Anomaly(a, r.History.Meta), Listed: opViews(a, r.History.Meta),
			Cut: drawing.Shortened(a, r.History.Meta),
		}
		v.Hidden = len(a.Ops) - len(v.Listed)
		v.Legend = drawing.SpanLegend(a)
		for _, o := range a.Overlaps() {
			v.Two = append(v.Two, describeLength(o.Span))
		}
		all = append(all, v)
	}
	return all
}

// describeLength returns how long a span lasts, in words.
func describeLength(s harness.Span) string {
	if s.To == 0 {
		return "without end"
	}
	return "for " + units.Duration(s.To-s.From)
}

func opViews(a harness.Anomaly, meta harness.Meta) []opView {
	var all []opView
	ops := drawing.Shown(a.Ops)
	for _, op := range ops {
		all = append(all, opView{Op: op, Who: nameClient(op.Client, meta), Since: op.Call - ops[0].Call,
			Took: op.Return - op.Call})
	}
	return all
}

// nameClient returns a client's id as text. A worker whose operation got no answer goes on under a new id. In that case
// the text names the worker, too.
func nameClient(client int, meta harness.Meta) string {
	switch w := meta.Worker(client); {
	case client < 0:
		return "harness"
	case w != client:
		return fmt.Sprintf("%d (worker %d)", client, w)
	default:
		return fmt.Sprint(client)
	}
}

func drawCharts(r Report) charts {
	c := charts{Width: r.Stats.Width, Peak: drawing.GroupPeak(r.Stats),
		Hidden: max(0, r.History.Meta.Groups-drawing.MaxGroupRows)}
	if r.Stats.Totals.All() == 0 {
		return c
	}
	run := drawing.Run{Stats: r.Stats, Faults: r.History.Faults, Groups: r.History.Meta.Groups}
	c.Throughput = drawingPointer(run.Throughput())
	if r.Stats.Totals.Failed+r.Stats.Totals.Unknown > 0 {
		c.Trouble = drawingPointer(run.Trouble())
	}
	if r.Stats.Totals.OK > 0 {
		c.Latency = drawingPointer(run.Latencies())
		if r.History.Meta.Groups > 1 {
			c.Groups = drawingPointer(run.PerGroup())
		}
	}
	return c
}

func drawingPointer(d drawing.Drawing) *drawing.Drawing { return &d }

// drawnFailovers returns the failovers to draw: all of them if there are few, otherwise only the slowest.
func drawnFailovers(all []analysis.Failover) []drawnFailover {
	var some []drawnFailover
	worst := slowest(all)
	for i, f := range all {
		if len(all) <= maxFalls || i == worst {
			some = append(some, drawnFailover{Failover: f, Number: i + 1, Picture: drawing.Waterfall(f)})
		}
	}
	return some
}

func severalFailovers(all []analysis.Failover) *failoverTable {
	if len(all) < 2 {
		return nil
	}
	t := failoverRows(all)
	return &t
}
