package drawing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	maxNamed = 6  // the largest number of faults that a chart shows by name; if there are more, it shows numbers
	maxKeyed = 40 // the largest number of entries in the key to these numbers
)

// band is a span of time in which faults act. It is drawn once, however many faults act in it.
type band struct {
	class    string
	from, to time.Duration
	faults   []string // a text for each fault, without repetitions
}

// bandsOf divides the time of the faults into bands of three classes. In the first class a fault that cuts off the
// client group is in force. In the second only other faults are. In the third faults only heal. The parameter group is
// the number of the client group; -1: the picture shows all clients. A fault without a recorded end heals until the
// time in the parameter end.
func bandsOf(faults []harness.Fault, group int, end time.Duration) []band {
	var times []time.Duration
	for _, f := range faults {
		times = append(times, f.Start, healsFrom(f, end), healsUntil(f, end))
	}
	slices.Sort(times)
	times = slices.Compact(times)
	var all []band
	for i := range max(0, len(times)-1) {
		next := bandIn(faults, group, times[i], times[i+1], end)
		switch n := len(all); {
		case next.class == "":
		case n > 0 && all[n-1].class == next.class && all[n-1].to == next.from:
			all[n-1].to, all[n-1].faults = next.to, unionOf(all[n-1].faults, next.faults)
		default:
			all = append(all, next)
		}
	}
	return all
}

// bandIn returns the band between two times. No fault begins or ends between them. If no fault acts or heals, the band
// has no class.
func bandIn(faults []harness.Fault, group int, from, to, end time.Duration) band {
	b := band{from: from, to: to}
	rank := []string{"", "band after", "band", "band cut"}
	for i, f := range faults {
		class, say := "", ""
		heal, span := healsFrom(f, end), fmt.Sprintf("%d %s, %s to %s", i+1, f.Name, units.At(f.Start),
			units.At(f.Heal))
		if f.Heal == 0 {
			span = fmt.Sprintf("%d %s, from %s on: the record stops before its heal", i+1, f.Name, units.At(f.Start))
		}
		switch force := f.Start <= from && to <= heal; {
		case force && slices.Contains(f.Groups, group):
			class, say = "band cut", span+": this group is cut off"
		case force:
			class, say = "band", span
		case max(f.Start, heal) <= from && to <= healsUntil(f, end):
			class, say = "band after", fmt.Sprintf("%d %s heals, %s to %s", i+1, f.Name, units.At(heal),
				units.At(healsUntil(f, end)))
		default:
			continue
		}
		b.faults = append(b.faults, say)
		if slices.Index(rank, class) > slices.Index(rank, b.class) {
			b.class = class
		}
	}
	return b
}

// healsFrom returns when the heal of f began. If the record stops before the heal, it returns the time in the parameter
// end.
func healsFrom(f harness.Fault, end time.Duration) time.Duration {
	if f.Heal == 0 {
		return max(end, f.Start)
	}
	return f.Heal
}

func healsUntil(f harness.Fault, end time.Duration) time.Duration {
	if f.End == 0 {
		return max(end, f.Heal)
	}
	return max(f.End, f.Heal)
}

func unionOf(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// bands shades the time in which faults act, and more lightly the time from the heal until the system was whole again.
// Faults that cut off the client group have a colour of their own. The parameter group is the number of that group; -1:
// the picture shows all clients.
func (f *frame) bands(faults []harness.Fault, group int, top, bottom float64) {
	for _, b := range bandsOf(faults, group, f.to) {
		f.rect(b.class, f.x(b.from), f.x(b.to), top, bottom, strings.Join(b.faults, "; "))
	}
}

// FaultKey returns a line that explains the fault numbers in a chart. It is empty if the chart shows names.
func FaultKey(faults []harness.Fault) string {
	if len(faults) <= maxNamed {
		return ""
	}
	var parts []string
	for i := 0; i < len(faults); {
		first := i
		for i < len(faults) && faults[i].Name == faults[first].Name {
			i++
		}
		if len(parts) == maxKeyed {
			return strings.Join(parts, ", ") + fmt.Sprintf(", and %d more, listed under Faults", len(faults)-first)
		}
		number := fmt.Sprint(first + 1)
		if i > first+1 {
			number += fmt.Sprintf("–%d", i)
		}
		parts = append(parts, number+" "+units.Clip(faults[first].Name, 32))
	}
	return strings.Join(parts, ", ")
}
