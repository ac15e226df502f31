package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// walked returns the walk through the only counterexample of a search.
func walked(t *testing.T, e Exploration) walk {
	p := newExplorationPage(e)
	require.Len(t, p.Counterexamples, 1)
	return p.Counterexamples[0].Walk
}

func TestAReaderGoesThroughTheSteps(t *testing.T) {
	e := searches()["blind"]
	w := walked(t, e)
	n := e.Result.Counterexamples[0].Length()
	require.Len(t, w.Steps, n)
	for i, s := range w.Steps {
		require.Equal(t, i+1, s.Place)
		require.Equal(t, i, s.Back)
		require.Less(t, s.Top, s.Bottom)
		if i > 0 {
			require.Equal(t, w.Steps[i-1].Bottom, s.Top, "the veil moves by one step")
		}
	}
	require.Zero(t, w.Steps[n-1].Next, "after the last step all are shown")
	require.LessOrEqual(t, w.Last().Bottom, w.Picture.Height)

	page := pageOf(t, ExplorationHTML, e)
	require.Equal(t, n+1, strings.Count(page, `type="radio"`))
	for i := range n + 1 {
		require.Equal(t, 1, strings.Count(page, fmt.Sprintf(`id="w0-%d"`, i)))
		require.GreaterOrEqual(t, strings.Count(page, fmt.Sprintf(`for="w0-%d"`, i)), 2,
			"a number, and a neighbour's button")
	}
	require.Equal(t, n, strings.Count(page, "{display:block}#w0-"))
}

func TestBeliefsStayUntilTheyChange(t *testing.T) {
	p := analysistest.NewPlay()
	op := func(kind harness.Kind) harness.Op { return analysistest.LockOp(kind, "") }
	first := p.Ends(1, "SET lock a NX PX 10000", "OK", "holds lock until 10s", op(harness.Acquire))
	p.World(interleave.Pass(0), "10.001 s pass: lock expires")
	second := p.Ends(2, "SET lock b NX PX 10000", "OK", "holds lock until 20s", op(harness.Acquire))
	p.Crashes(1)
	c := p.Shows(harness.DoubleGrant, "lock", "both", first, second)
	c.Budget = interleave.Budget{Clients: 3}
	w := walked(t, Exploration{Result: interleave.Result{Counterexamples: []interleave.Counterexample{c}}})
	said := func(step int) (all []string) {
		for _, b := range w.Steps[step-1].Clients {
			text := b.Who + ": " + b.Belief
			if b.Over {
				text += ", over"
			}
			if b.New {
				text += ", new"
			}
			all = append(all, text)
		}
		return all
	}
	require.Equal(t, []string{"client 1: holds lock until 10s, new", "client 2: ", "client 3: "}, said(1))
	require.Equal(t, []string{"client 1: holds lock until 10s, over", "client 2: ", "client 3: "}, said(2))
	require.Equal(t, []string{"client 1: holds lock until 10s, over", "client 2: holds lock until 20s, new",
		"client 3: "}, said(3))
	require.Equal(t, []string{"client 1: crashed, new", "client 2: holds lock until 20s", "client 3: "}, said(4))
}

func TestAStepShowsWhatIsStored(t *testing.T) {
	e := searches()["stuck"]
	require.NotContains(t, pageOf(t, ExplorationHTML, e), "<h4>Stored</h4>", "an older file does not tell")
	c := &e.Result.Counterexamples[0]
	c.Steps[0].Store = &interleave.Store{}
	c.Steps[1].Store = &interleave.Store{Keys: []interleave.Stored{{Key: "lock", Value: "<a>\x1b",
		Ends: 10 * time.Second}, {Key: "n", Value: "1"}}, More: 3}
	c.Steps[2].Store = &interleave.Store{Keys: []interleave.Stored{{Key: "lock", Value: "<a>\x1b",
		Ends: 10 * time.Second}, {Key: "n", Value: "2"}}}
	page := pageOf(t, ExplorationHTML, e)
	for _, want := range []string{
		`<h4>Stored</h4>`, `<li class="when">nothing</li>`,
		`<li class="new"><span class="mono">lock = &lt;a&gt;` + "\uFFFD" +
			`</span> <span class="when">until 10.000 s</span></li>`,
		`<li class="new"><span class="mono">n = 1</span> <span class="when">no expiry</span></li>` +
			`<li class="when">and 3 more</li>`,
		`<li><span class="mono">lock = `, `<li class="new"><span class="mono">n = 2</span>`,
	} {
		require.Contains(t, page, want)
	}
}

// The page of 40 steps of four clients stays small.
func TestAWalkOfFortyStepsIsSmall(t *testing.T) {
	p := analysistest.NewPlay()
	var last harness.Op
	for i := range 40 {
		last = p.Ends(i%4+1, fmt.Sprintf("SET lock client-%d NX PX 10000", i%4+1), "OK", "holds lock until 10.5s",
			analysistest.LockOp(harness.Acquire, ""))
		p.Last().Store = &interleave.Store{Keys: []interleave.Stored{{Key: "lock", Value: "client-1",
			Ends: time.Minute}, {Key: "fence", Value: "17"}}}
	}
	c := p.Shows(harness.DoubleGrant, "lock", "both", last)
	c.Budget = interleave.Budget{Clients: 4}
	with := len(pageOf(t, ExplorationHTML,
		Exploration{Result: interleave.Result{Counterexamples: []interleave.Counterexample{c}}}))
	t.Logf("%d bytes", with)
	require.Less(t, with, 160<<10)
}
