package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// cause is what led to a takeover.
type cause struct {
	faults []int // indexes of the faults, one of which did it; empty: no fault that was in force can have
	beside []int // the other faults that were in force between the cause and the promotion
	name   string
	start  time.Duration // of the first of the faults; without one, the first sign of the takeover
	by     string        // the targets of the only fault
}

// noCause is the name of a failover that no fault explains.
const noCause = "no known cause"

func (c cause) stage() Stage {
	switch len(c.faults) {
	case 0:
		return Stage{Note: "no fault was in force that ends, silences, demotes or cuts off the primary"}
	case 1:
		return seenAt(c.start, c.by)
	}
	return seenAt(c.start, c.name)
}

// means says how a fault can cause a takeover.
type means int

const (
	noMeans means = iota
	weak          // it may silence the primary, or not: it slows links, ends what comes back at once, or a Sentinel's clock is wrong
	sure          // it silences the primary for as long as it is in force
	order         // it tells Sentinels to move the primary
)

// causeOf finds the faults that may have led to the takeover, and those in force beside them.
func (t *takeover) causeOf(faults []harness.Fault) cause {
	d := t.detection()
	c := cause{faults: t.suspects(faults, d), name: noCause, start: t.firstSign(d)}
	var names []string
	for i, k := range c.faults {
		f := faults[k]
		if c.by = strings.Join(f.Targets, " "); i == 0 || f.Start < c.start {
			c.start = f.Start
		}
		names = append(names, f.Name)
	}
	switch len(names) {
	case 0:
	case 1:
		c.name = names[0]
	default:
		c.name = "one of " + strings.Join(names, ", ")
	}
	for i, f := range faults {
		if !slices.Contains(c.faults, i) && f.Start <= t.at && f.Until() >= c.start {
			c.beside = append(c.beside, i)
		}
	}
	return c
}

// firstSign returns the first sign of the takeover in the record.
func (t *takeover) firstSign(d detection) time.Duration {
	for _, at := range []time.Duration{d.suspected, d.began} {
		if at != notSeen {
			return at
		}
	}
	return t.at
}

// suspects returns the faults of which one led to the takeover, in order of their start.
func (t *takeover) suspects(faults []harness.Fault, d detection) []int {
	d.early = t.earlyBy(faults, d)
	able := map[means][]int{} // in order of start
	for _, i := range inOrderOfStart(faults) {
		f := faults[i]
		m := t.meansOf(f, d)
		if m == order && t.canOrder(f, d) || m != order && t.inForce(f, d) {
			able[m] = append(able[m], i)
		}
	}
	orders := able[order]
	if d.ordered && d.began != notSeen {
		if before := kept(orders, func(i int) bool { return faults[i].Start <= d.began }); len(before) > 0 {
			return before[len(before)-1:]
		}
	}
	fits := func(i int) bool { return t.onsetFits(faults[i], d) }
	for _, some := range [][]int{kept(able[sure], fits), kept(able[weak], fits), able[sure], able[weak]} {
		switch {
		case len(some) == 0:
		case d.missed == notSeen: // Sentinels may have been told to
			return inOrderOf(append(some, orders...), faults)
		default:
			return firstToAct(some, faults)
		}
	}
	return orders
}

// kept returns those of all for which is is true.
func kept(all []int, is func(int) bool) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !is(i) })
}

// firstToAct returns the faults of some, in order of start, that began before an earlier one had certainly silenced the
// primary.
func firstToAct(some []int, faults []harness.Fault) []int {
	const ends = harness.EndsProcess | harness.StopsProcess | harness.DefersCommands | harness.CutsLinks
	silent := harness.Forever
	for n, i := range some {
		f := faults[i]
		if f.Start >= silent {
			return some[:n]
		}
		if f.Active > 0 && f.Effects.Any(ends) {
			silent = min(silent, f.Active)
		}
	}
	return some
}

func inOrderOfStart(faults []harness.Fault) []int {
	var all []int
	for i := range faults {
		all = append(all, i)
	}
	return inOrderOf(all, faults)
}

func inOrderOf(all []int, faults []harness.Fault) []int {
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(faults[i].Start, faults[j].Start) })
	return slices.Compact(all)
}

// wholeAfter returns the end of the time in which a fault that moves the primary can lead to a takeover: when the
// system was whole again or, if that is not known, the heal.
func wholeAfter(f harness.Fault) time.Duration {
	if f.End == 0 {
		return f.Until()
	}
	return max(f.Heal, f.End)
}

// canOrder reports whether a fault that moves the primary may have led to the takeover.
func (t *takeover) canOrder(f harness.Fault, d detection) bool {
	return f.Start <= t.at && t.firstSign(d) <= wholeAfter(f)
}

// Sentinels ping every 250 ms, look every 100 ms, and may be late on a busy machine.
const (
	missedWithin = 800 * time.Millisecond // after the silence has lasted for down-after, a quorum has missed the primary
	missedEarly  = 300 * time.Millisecond // before that: the answer to an earlier ping was late
	backWithin   = 500 * time.Millisecond // after the heal, Sentinels have heard from a primary that answers again
)

// earlyBy returns by how much a quorum may have missed the primary before its silence had lasted for down-after. Where
// writes wait, so does what a Sentinel publishes, and its pings behind that: it connects anew only after half of down-after.
func (t *takeover) earlyBy(faults []harness.Fault, d detection) time.Duration {
	for _, f := range faults {
		if f.Effects.Has(harness.DefersWrites) && slices.Contains(f.Targets, t.subject) && f.Start <= d.missed && d.missed <= addTime(f.Until(), t.downAfter) {
			return missedEarly + t.downAfter/2
		}
	}
	return missedEarly
}

// inForce reports whether the fault had begun down-after before Sentinels missed the primary, and was not healed more
// than backWithin before that. If nobody was seen to miss it, the time of the promotion counts.
func (t *takeover) inForce(f harness.Fault, d detection) bool {
	at := d.missed
	if at == notSeen {
		at = t.at
	}
	return f.Start <= max(0, at-t.downAfter)+d.early && at <= addTime(f.Until(), backWithin)
}

func addTime(t, d time.Duration) time.Duration {
	if t == harness.Forever {
		return t
	}
	return t + d
}

// onsetFits reports whether the primary can have fallen silent with the beginning of the fault. If it is not known how
// long Sentinels wait, that cannot be told.
func (t *takeover) onsetFits(f harness.Fault, d detection) bool {
	if d.missed == notSeen || t.downAfter == 0 {
		return false
	}
	silent := d.missed - t.downAfter
	return f.Start <= silent+d.early && max(f.Active, f.Start) >= silent-missedWithin
}

// meansOf says by what the fault can have led to this takeover. A Sentinel whose clock is wrong may miss a primary that answers.
func (t *takeover) meansOf(f harness.Fault, d detection) means {
	hit := slices.ContainsFunc(f.Targets, func(host string) bool {
		a, b, _ := strings.Cut(host, "|") // a link, of an older program
		return t.subject != "" && (a == t.subject || b == t.subject)
	})
	switch e := f.Effects; {
	case e.Has(harness.MovesPrimary):
		return order
	case e.Has(harness.ShiftsClock) && t.sentinels[d.by] && slices.Contains(f.Targets, d.by):
		return weak
	case e == 0 && hit && !t.clientsOnly(f):
		return sure // not declared
	case !hit:
		return noMeans
	case e.Has(harness.EndsProcess | harness.StartsProcess):
		return weak
	case e.Any(harness.EndsProcess | harness.StopsProcess | harness.DefersCommands):
		return sure
	case !t.keepsFromSentinels(f):
		return noMeans
	case e.Any(harness.CutsLinks):
		return sure
	case e.Any(harness.SlowsLinks | harness.EndsConnections):
		return weak
	}
	return noMeans
}

// clientsOnly reports whether the fault is one of links between the primary and clients.
func (t *takeover) clientsOnly(f harness.Fault) bool {
	return slices.ContainsFunc(f.Targets, clientGroup) && len(t.sentinelsIn(f)) == 0 && len(f.Groups) == 0
}

// keepsFromSentinels reports whether a fault of links is between the primary and enough Sentinels for a quorum. A
// partition that has clients on the smaller side names the hosts of that side: the Sentinels that it names are those
// which the primary does not lose.
func (t *takeover) keepsFromSentinels(f harness.Fault) bool {
	named := t.sentinelsIn(f)
	if len(f.Groups) == 0 {
		return 2*len(named) > len(t.sentinels)
	}
	lost := 0
	for s := range t.sentinels {
		if !slices.Contains(named, s) {
			lost++
		}
	}
	return len(named) > 0 && lost > len(named)
}

// sentinelsIn lists the Sentinels among the fault's targets: what is neither a client group nor a node with a role.
func (t *takeover) sentinelsIn(f harness.Fault) []string {
	return slices.DeleteFunc(slices.Clone(f.Targets), func(host string) bool { return clientGroup(host) || t.redis[host] })
}

// clientGroup reports whether name is that of a client group, such as "g0".
func clientGroup(name string) bool {
	digits, ok := strings.CutPrefix(name, "g")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
