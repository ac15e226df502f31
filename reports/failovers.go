package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/tally"
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

// failoverTable shows several failovers, with the distribution of each column at the foot.
type failoverTable struct {
	About string
	Heads []string
	Rows  []failoverRow
	Foot  []failoverRow

	Remarks []fact // remarks on some failovers; each has the name of the failover's row
}

type failoverRow struct {
	Name  string
	Cells []string
}

func failoverRows(all []analysis.Failover) failoverTable {
	t := failoverTable{About: aboutTimes, Heads: FailoverTimes()}
	for _, f := range all {
		row := failoverRow{Name: nameRow(f)}
		for _, n := range analysis.Milestones()[1:] {
			s := f.Stage(n)
			row.Cells = append(row.Cells, cellOf(s.Seen, units.Duration(s.After)))
		}
		row.Cells = append(row.Cells, cellOf(f.Servers.Seen, units.Duration(f.Servers.Length())),
			cellOf(f.Outage.Seen, f.Outage.String()), cellOf(f.Writes.Seen, f.Writes.String()))
		t.Rows = append(t.Rows, row)
		if all := remarksOn(f); len(all) > 0 {
			t.Remarks = append(t.Remarks, fact{row.Name, strings.Join(all, "; ")})
		}
	}
	t.addFoot(figuresOf(all))
	return t
}

// addFoot adds rows with the median, the minimum, the p90 and the maximum of each column. If some failovers lack a
// time, one more row says how many failovers have each time.
func (t *failoverTable) addFoot(f tally.Figures) {
	t.Foot = []failoverRow{{Name: "median"}, {Name: "least"}, {Name: "p90"}, {Name: "most"}}
	of := failoverRow{Name: "seen in"}
	some := false
	for _, name := range t.Heads {
		d, ok := f.At(name)
		for i, v := range []time.Duration{d.Median, d.Min, d.P90, d.Max} {
			t.Foot[i].Cells = append(t.Foot[i].Cells, cellOf(ok, units.Duration(v)))
		}
		of.Cells = append(of.Cells, fmt.Sprintf("%d of %d", d.Of, f.Failovers))
		some = some || ok && d.Of < f.Failovers
	}
	if some {
		t.Foot = append(t.Foot, of)
	}
}

// remarksOn lists what is unusual about a failover. If other faults were in force at the same time as its cause, the
// first remark names them.
func remarksOn(f analysis.Failover) []string {
	all := f.Remarks()
	if len(f.OtherFaults) > 0 {
		all = append([]string{"beside " + units.Clip(strings.Join(f.OtherFaults, ", "), 120)}, all...)
	}
	return all
}

// aboutTimes says what the columns of a table of failovers mean.
const aboutTimes = "Stages: time since the fault; costs: how long; – was not seen."

// nameRow returns the name of a failover's row: the number and name of the fault, and the old and the new primary.
func nameRow(f analysis.Failover) string {
	name := units.Clip(f.Name, 40) + f.FromTo()
	if f.Fault < 0 || len(f.Candidates) > 0 {
		return name
	}
	return fmt.Sprintf("%d %s", f.Fault+1, name)
}

func cellOf(seen bool, text string) string {
	if !seen {
		return dash
	}
	return text
}
