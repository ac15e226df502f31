package reports

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

// Where there is no room for columns the head of a table is hidden, so that each cell has to name its column. A table that
// stays a table has two columns.
func TestEveryCellOfACardHasItsLabel(t *testing.T) {
	labels := 0
	for name, page := range pages(t) {
		tables := tablesOf(t, page)
		for _, table := range tables {
			if !table.cards {
				require.LessOrEqual(t, len(table.heads), 2, "%s: %v", name, table.heads)
				continue
			}
			for _, cell := range table.cells {
				labels++
				require.NotEmpty(t, cell, "%s: a cell below %v has no label", name, table.heads)
				known := slices.Contains(table.heads, cell) || slices.ContainsFunc(table.heads, func(h string) bool { return strings.HasPrefix(h, cell+" ") })
				require.True(t, known || slices.Contains([]string{"searched", "of all"}, cell), "%s: %q is no head of %v", name, cell, table.heads)
			}
		}
	}
	require.Greater(t, labels, 1000)
}

// tableOf holds the cells of one table of a page.
type tableOf struct {
	cards bool
	heads []string
	cells []string // the label of each
}

func tablesOf(t *testing.T, page string) (all []tableOf) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "table":
			all = append(all, tableOf{cards: slices.Contains(strings.Fields(attr(e, "class")), "cards")})
		case "th":
			var head string
			require.NoError(t, d.DecodeElement(&head, &e))
			all[len(all)-1].heads = append(all[len(all)-1].heads, head)
		case "td":
			all[len(all)-1].cells = append(all[len(all)-1].cells, attr(e, "data-label"))
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// What nobody looks for first is folded.
func TestTheMemoryOfTheHarnessIsFoldedUnlessItWasASoak(t *testing.T) {
	s := suiteWith(tally.Met)
	for i := range 40 {
		s.Memory.UnderLoad(tally.Sample{At: time.Duration(i) * time.Second, RSS: 50 << 20})
	}
	s.Memory.AfterRun(1, tally.Sample{At: 40 * time.Second, RSS: 50 << 20})
	require.Contains(t, textOf(t, SuiteHTML, s), "<details>\n<summary><h2>The harness itself</h2>")
	s.Memory.WarmUp = time.Second
	require.Contains(t, textOf(t, SuiteHTML, s), `<details open="open">`)
}

func TestAnIndexTellsRunsOfOneVariantApart(t *testing.T) {
	for want, r := range map[string]Row{
		"lock/x: load":                               {Name: "lock-x", Variant: "lock/x", Ops: 5},
		"lock/x: load, fixed, kill-primary":          {Name: "lock-x-fixed-kill-primary", Variant: "lock/x", Regime: "fixed, kill-primary", Ops: 5},
		"mine: load, kill-primary":                   {Name: "mine", Variant: "lock/x", Regime: "kill-primary", Ops: 5},
		"lock/x: every interleaving, and 1 failover": {Name: "lock/x", Variant: "lock/x", Regime: "every interleaving, and 1 failover"},
	} {
		require.Equal(t, want, r.title()+": "+r.about())
		page := textOf(t, Index, []Row{r})
		require.Contains(t, page, r.title()+`<span class="sub">`+r.about()+"</span>")
	}
}

func TestAPictureThatIsNotToScaleSaysSo(t *testing.T) {
	const said = "is not to scale"
	late := harness.Anomaly{Class: harness.DoubleGrant, Key: "k", Ops: []harness.Op{
		acquire(1, "k", 0, time.Millisecond), acquire(2, "k", 294*time.Millisecond, time.Millisecond), acquire(3, "k", 296*time.Millisecond, time.Millisecond),
	}}
	require.Contains(t, anomalyPage(t, late), said)
	require.NotContains(t, anomalyPage(t, doubleGrant("k", 0)), said)
}
