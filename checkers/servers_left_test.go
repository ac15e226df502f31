package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// These servers answer the harness's probes after the load, when no client is left that could act: nothing is executed
// after its Return.

// jammedServer is a lock that is free again when its leases have ended. Like the rule of Stuck, it is more lenient than
// a real one:
//
//   - a lease may begin as late as its answer came, and no release ends it;
//   - anybody may be granted the lock. Refusals do not count if it is granted to somebody later;
//   - a refusal before anybody has asked for the lock shows nothing.
type jammedServer struct {
	until time.Duration // the end of all leases
	last  int           // the harness's last acquire; the harness does one thing after the other
	stuck bool          // it refused after until
}

func (s jammedServer) do(d deed, at time.Duration) (world, bool) {
	if d.Kind == "" {
		return s, !s.stuck
	}
	if d.Client == harness.HarnessClient {
		if d.index < s.last {
			return nil, false
		}
		s.last = d.index
	}
	if d.Outcome == harness.Fail {
		s.stuck = s.stuck || at > s.until
		return s, true
	}
	s.until, s.stuck = max(s.until, d.lasts), s.stuck && d.Outcome != harness.OK
	return s, true
}

// jammedExplained is the specification of Stuck.
func jammedExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	asked := false
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		if x.Kind != harness.Acquire && x.Kind != harness.Extend {
			return false
		}
		asked = asked || x.Outcome != harness.Fail
		probed := x.Client == harness.HarnessClient && x.Kind == harness.Acquire &&
			(x.Err == "" || x.Err == harness.Held)
		return x.Outcome != harness.Fail || probed && asked
	})
	for i := range deeds {
		deeds[i].optional, deeds[i].to = deeds[i].Outcome == harness.Info, deeds[i].Return
	}
	return execution{deeds: lastly(deeds), every: every}.explains(jammedServer{})
}

// leftFilter is a filter together with those who claim, deliver and confirm. A message that it calls seen is marked,
// and was delivered by the worker that marked it. Like the rule of Delivery, it is more lenient than a real one:
//
//   - a mark may begin as late as its answer came, and end at any time; a claim that is told "seen" may replace it;
//   - the time of the delivery does not matter, nor do answers to clients before anybody had marked the message;
//   - once a claim has got no answer, or the harness has marked the message, nobody has to deliver it. This does not
//     hold if the client crashed or was told to stop: its claim certainly marked the message;
//   - a message that is new in the end had no endless mark. If a mark may have been left, it was not lost either;
//   - answers to the harness while a client is under way, or before any client has asked, show nothing.
type leftFilter struct {
	probes    map[int]probed // the harness's probes, by index
	leases    bool           // confirms are promised, so claims are leases
	delivered bool
	until     time.Duration // the end of all marks
	marked    bool
	excused   bool // nobody has to deliver the message
	asked     int  // index of the harness's first claim, from 1; 0: none
	last      int  // index of the harness's last operation
	// lost is the index of the probe that shows that the message is lost, from 1; 0: none. It is withdrawn if the
	// message is new while a mark may be left.
	lost int
	// immortal is the index of the probe that shows a mark without an end, from 1; 0: none. It is withdrawn if the
	// message is new in the end.
	immortal int
}

// probed describes what clients had asked before a probe of the harness.
type probed struct {
	says  bool // the probe shows something: a client had asked, and none was under way
	known bool // somebody may have marked the message
	owed  bool // somebody who may have marked it has to deliver it
}

func (s leftFilter) do(d deed, at time.Duration) (world, bool) {
	if d.Kind == "" {
		return s, s.lost == 0 && s.immortal == 0
	}
	if d.Client == harness.HarnessClient {
		if d.index < s.last {
			return nil, false
		}
		s.last = d.index
		lost, immortal := s.judges(d, at)
		if lost {
			s.lost = d.index + 1
		}
		if immortal {
			s.immortal = d.index + 1
		}
		if d.Kind == harness.Claim && s.asked == 0 {
			s.asked = d.index + 1
		}
	}
	if d.Kind == harness.Inspect || d.Outcome == harness.Fail {
		return s, true
	}
	over := at > s.until
	s.until = max(s.until, d.lasts)
	if d.Kind == harness.Confirm || d.Outcome == harness.Info || d.Result == harness.ResultFirst {
		s.mark(d, over)
	}
	return s, true
}

// judges reports what the probe d shows: that the message is lost, or that its mark is immortal.
func (s leftFilter) judges(d deed, at time.Duration) (lost, immortal bool) {
	p := s.probes[d.index]
	switch {
	case !p.says:
		return false, false
	case d.Kind == harness.Inspect:
		return false, p.known && s.until < endless
	}
	return !s.delivered && !s.excused && (p.owed || !s.marked) && (!s.leases || at > s.until), p.known && at > s.until
}

// mark applies d, a claim or confirm that may have marked the message. If d was told "first", it withdraws what earlier
// probes showed. over says that all marks before d had ended.
func (s *leftFilter) mark(d deed, over bool) {
	s.marked = true
	if d.Kind == harness.Confirm {
		return
	}
	first := d.Outcome == harness.OK
	ours := d.Client == harness.HarnessClient
	s.excused = s.excused || ours || !obliged(d.Op) || first && s.asked > 0 && s.asked <= d.index
	if first && !over && s.lost <= d.index {
		s.lost = 0
	}
	if first && s.immortal <= d.index {
		s.immortal = 0
	}
}

// obliged reports whether nobody but the client of the claim x can deliver the message. That is so if x was told
// "first", or if the client crashed or was told to stop.
func obliged(x harness.Op) bool {
	return x.Outcome == harness.OK || slices.Contains([]string{harness.Crashed, harness.FewAcks, "ERR"}, x.Err)
}

// leftExplained is the specification of Delivery.
func leftExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	s := leftFilter{probes: map[int]probed{}, leases: slices.Contains(meta.Kinds, harness.Confirm)}
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		s.delivered = s.delivered || x.Kind == harness.Deliver && x.Outcome != harness.Fail
		ours := x.Client == harness.HarnessClient
		return x.Kind == harness.Claim && (ours || x.Outcome != harness.Fail) || x.Kind == harness.Confirm &&
			x.Outcome != harness.Fail ||
			x.Kind == harness.Inspect && ours && x.Outcome == harness.OK && x.Result != "" && x.TTL == 0
	})
	for i := range deeds {
		d := &deeds[i]
		d.optional, d.to = d.Outcome == harness.Info, d.Return
		if d.Client == harness.HarnessClient && d.Outcome == harness.OK && d.Result != harness.ResultFirst {
			s.probes[d.index] = askedBefore(*d, deeds)
		}
	}
	return execution{deeds: lastly(deeds), every: every}.explains(s)
}

// askedBefore describes what was asked before d, a probe.
func askedBefore(d deed, deeds []deed) (p probed) {
	for _, x := range deeds {
		ours := x.Client == harness.HarnessClient
		switch {
		case x.Kind == harness.Inspect || x.Outcome == harness.Fail:
		case x.index > d.index && !ours && x.Call <= d.Return:
			return probed{}
		case x.index < d.index:
			marks := x.Kind == harness.Confirm || x.Outcome == harness.Info || x.Result == harness.ResultFirst
			p.known = p.known || marks
			p.says = p.says || marks || !ours
			p.owed = p.owed || marks && !ours && x.Kind == harness.Claim && obliged(x.Op)
		}
	}
	return p
}
