package analysis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// cause says which faults led to a takeover.
type cause struct {
	faults []int // indexes of the possible causes, of which one is the cause; empty: no fault caused the takeover
	beside []int // indexes of other faults in force between the cause and the promotion
	name   string
	start  time.Duration // start of the first possible cause; without one, the first sign of the takeover
	by     string        // targets of the possible cause, if there is only one possible cause
}

// noCause names the cause of a failover that no fault explains.
const noCause = "no fault caused it"

func (c cause) stage() Stage {
	switch len(c.faults) {
	case 0:
		return Stage{Note: "no fault was in force that ends, silences, demotes or cuts off the primary"}
	case 1:
		return seenAt(c.start, c.by)
	}
	return seenAt(c.start, c.name)
}

// effect says how a fault can cause a takeover.
type effect int

const (
	noEffect       effect = iota
	maySilence            // may silence the primary: slows its links, restarts it at once, or shifts a Sentinel's clock
	silences              // silences the primary for as long as it is in force
	ordersFailover        // tells Sentinels to move the primary
)

// causeOf finds the faults that may have led to the takeover, and the other faults that were in force between the first
// of them and the promotion.
func (t *takeover) causeOf(faults []harness.Fault) cause {
	d := t.detection()
	c := cause{faults: t.candidates(faults, d), name: noCause, start: t.firstSign(d)}
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
		if !slices.Contains(c.faults, i) && f.Start <= t.promotedAt && f.InForceUntil() >= c.start {
			c.beside = append(c.beside, i)
		}
	}
	return c
}

func (t *takeover) firstSign(d detection) time.Duration {
	for _, at := range []time.Duration{d.suspected, d.startedAt} {
		if at != notSeen {
			return at
		}
	}
	return t.promotedAt
}

// candidates returns the faults that most likely led to the takeover, ordered by start. If a Sentinel seems to have
// been ordered to fail over, the only candidate is the fault with the last such order. Otherwise candidates prefers
// faults that began when the primary fell silent, and among these the faults that certainly silence a primary.
func (t *takeover) candidates(faults []harness.Fault, d detection) []int {
	d.tolerance = t.toleranceOf(faults, d)
	byEffect := map[effect][]int{} // ordered by start
	for _, i := range inOrderOfStart(faults) {
		f := faults[i]
		m := t.effectOf(f, d)
		if m == ordersFailover && t.canOrder(f, d) || m != ordersFailover && t.inForce(f, d) {
			byEffect[m] = append(byEffect[m], i)
		}
	}
	orders := byEffect[ordersFailover]
	if d.ordered && d.startedAt != notSeen {
		if before := filter(orders, func(i int) bool { return faults[i].Start <= d.startedAt }); len(before) > 0 {
			return before[len(before)-1:]
		}
	}
	fits := func(i int) bool { return t.onsetFits(faults[i], d) }
	for _, group := range [][]int{filter(byEffect[silences], fits), filter(byEffect[maySilence], fits),
		byEffect[silences], byEffect[maySilence]} {
		switch {
		case len(group) == 0:
		case d.missed == notSeen: // a Sentinel may have been ordered to fail over
			return inOrderOf(append(group, orders...), faults)
		default:
			return firstToAct(group, faults)
		}
	}
	return orders
}

func filter(all []int, keep func(int) bool) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return !keep(i) })
}

// firstToAct keeps those faults of a group that began before any of them had certainly silenced the primary. The group
// is ordered by start.
func firstToAct(group []int, faults []harness.Fault) []int {
	const ends = harness.EndsProcess | harness.StopsProcess | harness.DefersCommands | harness.CutsLinks
	silent := harness.Forever
	for n, i := range group {
		f := faults[i]
		if f.Start >= silent {
			return group[:n]
		}
		if f.Active > 0 && f.Effects.Any(ends) {
			silent = min(silent, f.Active)
		}
	}
	return group
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

// recoveredAt returns when the system had recovered from f, a fault that moves the primary. Takeovers after that time
// are not due to f. If the record does not show the recovery, recoveredAt returns when f was healed.
func recoveredAt(f harness.Fault) time.Duration {
	if f.End == 0 {
		return f.InForceUntil()
	}
	return max(f.Heal, f.End)
}

// canOrder reports whether f, a fault that tells Sentinels to move the primary, may have led to the takeover.
func (t *takeover) canOrder(f harness.Fault, d detection) bool {
	return f.Start <= t.promotedAt && t.firstSign(d) <= recoveredAt(f)
}

// These bounds allow for Sentinels that ping every 250 ms, check their instances every 100 ms, and are late on a busy
// machine.
const (
	missedWithin = 800 * time.Millisecond // a quorum notices a silent primary at most this long after down-after
	missedEarly  = 300 * time.Millisecond // a quorum may notice it this early before down-after, if a ping was late
	backWithin   = 500 * time.Millisecond // how long after the heal Sentinels may still miss a primary that works again
)

// toleranceOf returns the length of time by which the primary's silence may have been shorter than down-after when a
// quorum missed the primary. This length is larger if a fault makes writes wait: a Sentinel's pings are queued behind
// its own writes, until it reconnects after half of down-after.
func (t *takeover) toleranceOf(faults []harness.Fault, d detection) time.Duration {
	for _, f := range faults {
		if f.Effects.Has(harness.DefersWrites) && slices.Contains(f.Targets, t.presumed) && f.Start <= d.missed &&
			d.missed <= addTime(f.InForceUntil(), t.downAfter) {
			return missedEarly + t.downAfter/2
		}
	}
	return missedEarly
}

// inForce reports whether f may be why a quorum of Sentinels missed the primary. They miss it once it has been silent
// for down-after, or for up to d.tolerance less. f must have begun before that silence, and must not have ended more
// than backWithin before they missed the primary. If the record does not show when they missed it, the time of the
// promotion is used.
func (t *takeover) inForce(f harness.Fault, d detection) bool {
	at := d.missed
	if at == notSeen {
		at = t.promotedAt
	}
	return f.Start <= max(0, at-t.downAfter)+d.tolerance && at <= addTime(f.InForceUntil(), backWithin)
}

func addTime(t, d time.Duration) time.Duration {
	if t == harness.Forever {
		return t
	}
	return t + d
}

// onsetFits reports whether the fault began when the primary fell silent. It returns false if the record does not show
// when that was.
func (t *takeover) onsetFits(f harness.Fault, d detection) bool {
	if d.missed == notSeen || t.downAfter == 0 {
		return false
	}
	silent := d.missed - t.downAfter
	return f.Start <= silent+d.tolerance && max(f.Active, f.Start) >= silent-missedWithin
}

// effectOf says how the fault can have led to this takeover. A Sentinel whose clock is wrong may miss a primary that
// answers.
func (t *takeover) effectOf(f harness.Fault, d detection) effect {
	hit := slices.ContainsFunc(f.Targets, func(host string) bool {
		a, b, _ := strings.Cut(host, "|") // older records name links
		return t.presumed != "" && (a == t.presumed || b == t.presumed)
	})
	switch e := f.Effects; {
	case e.Has(harness.MovesPrimary):
		return ordersFailover
	case e.Has(harness.ShiftsClock) && t.sentinels[d.starter] && slices.Contains(f.Targets, d.starter):
		return maySilence
	case e == 0 && hit && !t.clientsOnly(f):
		return silences // older records have no effects
	case !hit:
		return noEffect
	case e.Has(harness.EndsProcess | harness.StartsProcess):
		return maySilence
	case e.Any(harness.EndsProcess | harness.StopsProcess | harness.DefersCommands):
		return silences
	case !t.keepsFromSentinels(f):
		return noEffect
	case e.Any(harness.CutsLinks):
		return silences
	case e.Any(harness.SlowsLinks | harness.EndsConnections):
		return maySilence
	}
	return noEffect
}

// clientsOnly reports whether the fault strikes only links between the primary and clients.
func (t *takeover) clientsOnly(f harness.Fault) bool {
	return slices.ContainsFunc(f.Targets, clientGroup) && len(t.sentinelsIn(f)) == 0 && len(f.Groups) == 0
}

// keepsFromSentinels reports whether a link fault cuts the primary off from enough Sentinels for a quorum. If the fault
// has client groups it is a partition, and its targets are the primary's side. The primary then reaches only the
// Sentinels among the targets.
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

// sentinelsIn lists the Sentinels among the fault's targets: those that are neither a client group nor a node with a
// role.
func (t *takeover) sentinelsIn(f harness.Fault) []string {
	return slices.DeleteFunc(slices.Clone(f.Targets),
		func(host string) bool { return clientGroup(host) || t.redis[host] })
}

// clientGroup reports whether the name is that of a client group, such as "g0".
func clientGroup(name string) bool {
	digits, ok := strings.CutPrefix(name, "g")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
