package checkers

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// lateCommands says how early the late commands of one owner can end a lease of that owner. A late command is one that
// ended in info, so the server may still execute it. The zero value stands for no late command. See soundness rule 2 in
// the README.
type lateCommands struct {
	mayRelease    bool          // a release may still be executed
	maySetLease   bool          // an acquire or extend may still start a new lease
	shortestLease time.Duration // the shortest lease that a late command may start, counted from its execution
	promisedUntil time.Duration // the earliest end that a late command promised; 0: none promised one
}

// withOp returns l with one more late command: x, a lock operation that ended in info.
func (l lateCommands) withOp(x harness.Op, drift float64) lateCommands {
	if x.Kind == harness.Release {
		l.mayRelease = true
		return l
	}
	length := harness.EarliestEnd(0, x.TTL, drift)
	if !l.maySetLease || length < l.shortestLease {
		l.shortestLease = length
	}
	if x.Until > 0 && (l.promisedUntil == 0 || x.Until < l.promisedUntil) {
		l.promisedUntil = x.Until
	}
	l.maySetLease = true
	return l
}

// earliestEnd returns the earliest end that the late commands can give to a lease which was asked for at the time in
// the parameter call. The server may execute them right after it has granted that lease.
func (l lateCommands) earliestEnd(call time.Duration) time.Duration {
	end := forever
	switch {
	case l.mayRelease:
		return call
	case l.maySetLease && l.shortestLease < forever-call:
		end = call + l.shortestLease
	}
	if l.promisedUntil > 0 {
		end = min(end, l.promisedUntil)
	}
	return max(call, end)
}

// endOf returns the earliest end of the lease of x, an ok acquire or extend, given the late commands of its owner. That
// end is not before x.Call.
func (l lateCommands) endOf(x harness.Op, drift float64) time.Duration {
	return max(x.Call, min(x.HeldUntil(drift), l.earliestEnd(x.Call)))
}

// lateKept bounds the owners whose late commands are kept, at about 200 bytes each. If one more owner comes, all late
// commands are dropped, and only hashes of their owners remain.
const lateKept = 1 << 14

// lateOwners holds the owners of locks that have late commands. A late command may be executed at any later time, so no
// owner is dropped entirely. Once more than lateKept have come, a hash of each older owner remains, at about 16 bytes.
type lateOwners struct {
	commands  map[lateOwner]lateCommands
	forgotten map[uint64]struct{} // hashes of owners
}

type lateOwner struct {
	key   string
	owner owner
}

// add records the late command x, a lock operation that ended in info.
func (all *lateOwners) add(x harness.Op, meta harness.Meta) {
	o := lateOwner{x.Key, ownerOf(x, meta)}
	if len(all.commands) == lateKept {
		all.forget()
	}
	if all.commands == nil {
		all.commands = map[lateOwner]lateCommands{}
	}
	all.commands[o] = all.commands[o].withOp(x, meta.Drift)
}

// forget drops the late commands and keeps only the hashes of their owners.
func (all *lateOwners) forget() {
	if all.forgotten == nil {
		all.forgotten = map[uint64]struct{}{}
	}
	for o := range all.commands {
		all.forgotten[o.hash()] = struct{}{}
	}
	clear(all.commands)
}

// commandsOf returns the late commands of the owner of x. If they were forgotten, its second result is false.
func (all *lateOwners) commandsOf(x harness.Op, meta harness.Meta) (l lateCommands, known bool) {
	if len(all.commands) == 0 && all.forgotten == nil {
		return lateCommands{}, true
	}
	o := lateOwner{x.Key, ownerOf(x, meta)}
	if all.forgotten != nil {
		if _, isForgotten := all.forgotten[o.hash()]; isForgotten {
			return lateCommands{mayRelease: true}, false
		}
	}
	return all.commands[o], true
}

// hash returns a hash of o. Two owners share a hash with a chance of 1 in 2^64. In that case one of them may go
// unjudged; nothing worse happens.
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
