package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
)

// slowest returns the index of the failover with the longest outage.
func slowest(all []analysis.Failover) int {
	worst := 0
	for i, f := range all {
		if f.Outage.Seen && f.Outage.Least > all[worst].Outage.Least {
			worst = i
		}
	}
	return worst
}

// failoverTable is a table of several failovers, with the median and the range of each column below.
type failoverTable struct {
	Heads []string
	Rows  []failoverRow
	Foot  []failoverRow
}

type failoverRow struct {
	Name  string
	Cells []string
}

func failoverRows(all []analysis.Failover) failoverTable {
	names := analysis.Milestones()[1:]
	t := failoverTable{}
	columns := make([][]time.Duration, len(names)+3)
	for _, n := range names {
		t.Heads = append(t.Heads, string(n))
	}
	t.Heads = append(t.Heads, analysis.NoWrites, analysis.NoAnswers, analysis.NoClientWrites)
	for _, f := range all {
		row := failoverRow{Name: nameRow(f)}
		for i, n := range names {
			s := f.Stage(n)
			row.Cells = append(row.Cells, cellOf(s.Seen, s.After, &columns[i]))
		}
		row.Cells = append(row.Cells,
			cellOf(f.Servers.Seen, f.Servers.Length(), &columns[len(names)]),
			outageCell(f.Outage, &columns[len(names)+1]), outageCell(f.Writes, &columns[len(names)+2]))
		t.Rows = append(t.Rows, row)
	}
	t.Foot = []failoverRow{{Name: "median"}, {Name: "least"}, {Name: "most"}}
	for _, c := range columns {
		low, mid, high := spreadOf(c)
		for i, cell := range []string{mid, low, high} {
			t.Foot[i].Cells = append(t.Foot[i].Cells, cell)
		}
	}
	return t
}

// nameRow names a failover in a table: the number and name of the fault, and who followed whom.
func nameRow(f analysis.Failover) string {
	name := units.Clip(f.Name, 40) + f.Moved()
	if f.Fault < 0 || len(f.OneOf) > 0 {
		return name
	}
	return fmt.Sprintf("%d %s", f.Fault+1, name)
}

// outageCell writes how long an outage lasted, and keeps it for the column's median unless it is a range.
func outageCell(o analysis.Outage, column *[]time.Duration) string {
	if o.Seen && o.IsRange() {
		return o.String()
	}
	return cellOf(o.Seen, o.Length(), column)
}

// cellOf writes a time and keeps it for the column's median.
func cellOf(seen bool, d time.Duration, column *[]time.Duration) string {
	if !seen {
		return "–"
	}
	*column = append(*column, d)
	return units.Duration(d)
}

// spreadOf returns the least, the median and the most of values, as text.
func spreadOf(values []time.Duration) (low, mid, high string) {
	if len(values) == 0 {
		return "–", "–", "–"
	}
	slices.Sort(values)
	n := len(values)
	median := (values[(n-1)/2] + values[n/2]) / 2
	return units.Duration(values[0]), units.Duration(median), units.Duration(values[n-1])
}
