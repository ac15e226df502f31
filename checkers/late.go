package checkers

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// lateCommands says how short the commands of one owner that ended in info, and may still be executed, can make a lease. The zero value
// stands for no such command. See soundness rule 2 in the README.
type lateCommands struct {
	released bool          // a release may still come
	sets     bool          // an acquire or extend may still set the lease anew:
	length   time.Duration // to this at least, from its execution on
	until    time.Duration // to no longer than this, which one of them promised; 0: nothing is promised
}

// withOp returns l with x added, an operation on a lock that ended in info.
func (l lateCommands) withOp(x harness.Op, drift float64) lateCommands {
	if x.Kind == harness.Release {
		l.released = true
		return l
	}
	length := harness.EarliestEnd(0, x.TTL, drift)
	if !l.sets || length < l.length {
		l.length = length
	}
	if x.Until > 0 && (l.until == 0 || x.Until < l.until) {
		l.until = x.Until
	}
	l.sets = true
	return l
}

// earliestEnd returns the earliest end of a lease asked for at call, after those commands: they may be executed right after it.
func (l lateCommands) earliestEnd(call time.Duration) time.Duration {
	end := forever
	switch {
	case l.released:
		return call
	case l.sets && l.length < forever-call:
		end = call + l.length
	}
	if l.until > 0 {
		end = min(end, l.until)
	}
	return max(call, end)
}

// keptUntil returns the earliest end of the lease of x, an ok acquire or extend, after those commands of its owner. It is not before x.Call.
func (l lateCommands) keptUntil(x harness.Op, drift float64) time.Duration {
	return max(x.Call, min(x.HeldUntil(drift), l.earliestEnd(x.Call)))
}

// lateKept bounds the owners that are kept together with their late commands, about 200 bytes each. Of further owners only a
// hash is kept.
const lateKept = 1 << 14

// lateOwners knows which owners of locks have commands that may still be executed. Such a command may come at any later
// time, so none is ever forgotten: memory is about 16 bytes for each owner beyond lateKept.
type lateOwners struct {
	kept map[lateOwner]lateCommands
	old  map[uint64]struct{} // hashes of owners
}

type lateOwner struct {
	key   string
	owner owner
}

// add notes x, an operation on a lock that ended in info.
func (all *lateOwners) add(x harness.Op, meta harness.Meta) {
	o := lateOwner{x.Key, ownerOf(x, meta)}
	if len(all.kept) == lateKept {
		all.forget()
	}
	if all.kept == nil {
		all.kept = map[lateOwner]lateCommands{}
	}
	all.kept[o] = all.kept[o].withOp(x, meta.Drift)
}

// forget keeps nothing of the owners but their hashes.
func (all *lateOwners) forget() {
	if all.old == nil {
		all.old = map[uint64]struct{}{}
	}
	for o := range all.kept {
		all.old[o.hash()] = struct{}{}
	}
	clear(all.kept)
}

// commandsOf returns what late commands of the owner of x may leave of its leases. known is false for an owner that was forgotten.
func (all *lateOwners) commandsOf(x harness.Op, meta harness.Meta) (l lateCommands, known bool) {
	if len(all.kept) == 0 && all.old == nil {
		return lateCommands{}, true
	}
	o := lateOwner{x.Key, ownerOf(x, meta)}
	if all.old != nil {
		if _, forgotten := all.old[o.hash()]; forgotten {
			return lateCommands{released: true}, false
		}
	}
	return all.kept[o], true
}

// hash tells owners apart, except by a chance of 1 in 2^64: who is taken for another is not judged, no more.
func (o lateOwner) hash() uint64 {
	h := fnv.New64a()
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:], uint64(o.owner.worker))
	binary.LittleEndian.PutUint64(n[8:], uint64(len(o.key)))
	_, _ = h.Write(n[:])
	_, _ = h.Write([]byte(o.key))
	_, _ = h.Write([]byte(o.owner.token))
	return h.Sum64()
}
