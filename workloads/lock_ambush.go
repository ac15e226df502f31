package workloads

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has the clients that race for a lock which is held to its lease's end. They wait for that instant, and some
// take a name like the owner's.

// watchedLease is a lease whose end clients wait for. The zero value stands for none.
type watchedLease struct {
	owner string
	end   time.Duration // approximate end of the lease
}

// watch tells the other clients until when an owner holds the lock, so that they can try to take the lock in that
// instant.
func (k *lockKeyState) watch(owner string, end time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched, k.names = watchedLease{owner, end}, 0
}

// renewed sets the new end of the watched lease, if that lease is the given owner's.
func (k *lockKeyState) renewed(owner string, end time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched.owner == owner {
		k.watched.end = end
	}
}

const (
	ambushFrom    = 8 * time.Millisecond // a client waits for a lease's end if that is at most this far away
	ambushClients = 8                    // largest number of clients that wait for the end of the same lease
	ambushTries   = 8                    // largest number of tries of each of these clients
)

// ambush is for a client that was just refused a lock. If the owner's lease ends soon, the client waits for the lease's
// end and tries several times around that time. The parameter last is the refused try. ambush returns the client's
// latest try, which is the refused one if the client did not try again.
func (c *lockClient) ambush(ctx context.Context, s *harness.Session, key string, last harness.Op) harness.Op {
	k := c.keys[key]
	end, ok := k.joinAmbush(s.Now())
	if !ok {
		return last
	}
	defer k.leaveAmbush()
	if !s.Sleep(end - lastInstant + drawPart(s.Rand, lastInstant, 0, 1) - s.Now()) {
		return last
	}
	for range ambushTries {
		if last = c.acquire(ctx, s, key, c.nameFor(s, k)); last.Err != harness.Held || s.Now() > end+2*lastInstant {
			return last
		}
	}
	return last
}

// joinAmbush takes a place among the clients that wait for the end of the lock's lease, and returns that end. It
// returns false if the end is too far away, or if no place is free.
func (k *lockKeyState) joinAmbush(now time.Duration) (end time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	end = k.watched.end
	if untilEnd := end - now; k.watched.owner == "" || untilEnd < 0 || untilEnd > ambushFrom ||
		k.waiting == ambushClients {
		return 0, false
	}
	k.waiting++
	return end, true
}

func (k *lockKeyState) leaveAmbush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting--
}

// nameTail is the end of every owner's name. So names begin and end alike, and differ in between.
const nameTail = "owner"

// likeHolder is the share of tries at a watched lock that use a name like its owner's.
const likeHolder = 0.4

// nameFor returns the name under which a client tries a lock: a new name, or one that resembles the watched owner's.
func (c *lockClient) nameFor(s *harness.Session, k *lockKeyState) string {
	if s.Rand.Float64() < likeHolder {
		if name := k.similarName(); name != "" {
			return name
		}
	}
	return c.newOwner(s)
}

// similarName returns a name like the watched owner's, which nobody else gets. It returns "" if no lease is watched.
func (k *lockKeyState) similarName() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched.owner == "" {
		return ""
	}
	k.names++
	return nameLike(k.watched.owner, k.names)
}

// nameLike returns the n-th name, from 1, that resembles owner: it has digits added before or behind, is a prefix, or
// differs in the last letter or in case. All these names are different. If owner is such a name itself and no longer
// ends in nameTail, nameLike only adds digits. So no two owners ever have the same name.
func nameLike(owner string, n int) string {
	const kinds = 5
	round, whole := (n-1)/kinds, strings.HasSuffix(owner, "-"+nameTail)
	switch {
	case n%kinds == 2 && whole && round <= len(nameTail):
		return owner[:len(owner)-1-round]
	case n%kinds == 3 && whole && round < 9:
		return owner[:len(owner)-1] + strconv.Itoa(round+1)
	case n%kinds == 4 && whole && round < 1<<len(nameTail)-1:
		return strings.TrimSuffix(owner, nameTail) + inOtherCase(nameTail, round+1)
	case n%kinds == 0 && whole:
		return strconv.Itoa(n) + "-" + owner
	}
	return owner + "." + strconv.Itoa(n)
}

// inOtherCase returns the given letters, all lower-case, with letter i in upper case wherever bit i of bits is set.
func inOtherCase(letters string, bits int) string {
	out := []byte(letters)
	for i := range out {
		if bits&(1<<i) != 0 {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}
