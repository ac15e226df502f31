package reports

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// On screens without room for columns the heads of tables are hidden, so each cell must contain its column's head.
// Tables with two columns stay as they are.
func TestEveryCellOfACardHasItsLabel(t *testing.T) {
	labels := 0
	for name, page := range pages(t) {
		tables := tablesOf(t, page)
		for _, table := range tables {
			if !slices.Contains(strings.Fields(table.Class), "cards") {
				require.LessOrEqual(t, len(table.Heads), 2, "%s: %v", name, table.Heads)
				continue
			}
			for _, cell := range append(table.Body, table.Foot...) {
				labels++
				require.NotEmpty(t, cell.Label, "%s: a cell below %v has no label", name, table.Heads)
				known := append([]string{"searched", "of all"}, table.Heads...)
				named := slices.ContainsFunc(known, func(head string) bool {
					return strings.HasPrefix(head+" ", cell.Label+" ")
				})
				require.True(t, named, "%s: %q is no head of %v", name, cell.Label, table.Heads)
			}
		}
	}
	require.Greater(t, labels, 1000)
}

// tableOf is a table on a page.
type tableOf struct {
	Class string     `xml:"class,attr"`
	Heads []string   `xml:"thead>tr>th"`
	Body  []labelled `xml:"tbody>tr>td"`
	Foot  []labelled `xml:"tfoot>tr>td"`
}

type labelled struct {
	Label string `xml:"data-label,attr"`
}

func tablesOf(t *testing.T, page string) (all []tableOf) {
	t.Helper()
	eachElement(t, page, func(d *xml.Decoder, e xml.StartElement) {
		if e.Name.Local == "table" {
			var table tableOf
			require.NoError(t, d.DecodeElement(&table, &e))
			all = append(all, table)
		}
	})
	return all
}

func TestAnIndexTellsRunsOfOneVariantApart(t *testing.T) {
	for want, r := range map[string]Row{
		"lock/x: load": {Name: "lock-x", Variant: "lock/x", Ops: 5},
		"lock/x: load, fixed, kill-primary": {Name: "lock-x-fixed-kill-primary", Variant: "lock/x",
			Regime: "fixed, kill-primary", Ops: 5},
		"mine: load, kill-primary": {Name: "mine", Variant: "lock/x", Regime: "kill-primary", Ops: 5},
		"lock/x: every interleaving, and 1 failover": {Name: "lock/x", Variant: "lock/x",
			Regime: "every interleaving, and 1 failover"},
	} {
		require.Equal(t, want, r.title()+": "+r.about())
		page := textOf(t, Index, []Row{r})
		require.Contains(t, page, r.title()+`<span class="sub">`+r.about()+"</span>")
	}
}

func TestAPictureThatIsNotToScaleSaysSo(t *testing.T) {
	const said = "is not to scale"
	late := harness.Anomaly{Class: harness.DoubleGrant, Key: "k", Ops: []harness.Op{
		acquire(1, "k", 0, time.Millisecond), acquire(2, "k", 294*time.Millisecond, time.Millisecond),
		acquire(3, "k", 296*time.Millisecond, time.Millisecond),
	}}
	require.Contains(t, anomalyPage(t, late), said)
	require.NotContains(t, anomalyPage(t, doubleGrant("k", 0)), said)
}
