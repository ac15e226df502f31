package workloads

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has what the other clients do while a lock is held to its lease's end: they wait for that instant, and some
// take a name like the owner's.

// watchedLease is a lease whose end clients wait for. The zero value means that there is none.
type watchedLease struct {
	owner string
	end   time.Duration // about when it is over
}

// watch tells everybody that the owner holds the lock until end.
func (k *lockKeyState) watch(owner string, end time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watched, k.names = watchedLease{owner, end}, 0
}

// renewed notes that the owner, if it is watched, holds the lock until end now.
func (k *lockKeyState) renewed(owner string, end time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched.owner == owner {
		k.watched.end = end
	}
}

const (
	ambushFrom    = 8 * time.Millisecond // a client waits for a lease's end that is no further away
	ambushClients = 8                    // wait for one end at most
	ambushTries   = 8                    // of each client at most
)

// ambush lets a client that was refused the lock wait for the end of its owner's lease, if that is near, and try again and
// again around it. It returns the last try.
func (c *lockClient) ambush(ctx context.Context, s *harness.Session, key string, got harness.Op) harness.Op {
	k := c.keys[key]
	end, ok := k.lieInWait(s.Now())
	if !ok {
		return got
	}
	defer k.rise()
	if !s.Sleep(end - lastInstant + drawPart(s.Rand, lastInstant, 0, 1) - s.Now()) {
		return got
	}
	for range ambushTries {
		if got = c.acquire(ctx, s, key, c.nameFor(s, k)); got.Err != harness.Held || s.Now() > end+2*lastInstant {
			return got
		}
	}
	return got
}

// lieInWait takes a place among the clients that wait for the end of the lock's lease, and returns that end. It reports
// false if the end is not near, or if no place is left.
func (k *lockKeyState) lieInWait(now time.Duration) (end time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	end = k.watched.end
	if left := end - now; k.watched.owner == "" || left < 0 || left > ambushFrom || k.waiting == ambushClients {
		return 0, false
	}
	k.waiting++
	return end, true
}

func (k *lockKeyState) rise() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waiting--
}

// nameTail ends every name, so that those of all owners end alike, as they begin alike.
const nameTail = "owner"

// likeHolder is the share of tries at a watched lock that are made under a name like its owner's.
const likeHolder = 0.4

// nameFor returns the name for a try at a lock.
func (c *lockClient) nameFor(s *harness.Session, k *lockKeyState) string {
	if s.Rand.Float64() < likeHolder {
		if name := k.similarName(); name != "" {
			return name
		}
	}
	return c.newOwner(s)
}

// similarName returns a name like the watched owner's, which nobody else gets. It is empty if nobody is watched.
func (k *lockKeyState) similarName() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watched.owner == "" {
		return ""
	}
	k.names++
	return nameLike(k.watched.owner, k.names)
}

// nameLike returns the n-th name, from 1, that is like owner: it adds digits, before or behind, is only the beginning, or differs in the
// last letter or in case. The names of one owner are all different. A name that was made so itself only gets digits added, if its tail is no
// longer whole, so that no two names are ever the same.
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

// inOtherCase returns small letters with some in upper case: those whose bit is set.
func inOtherCase(letters string, bits int) string {
	out := []byte(letters)
	for i := range out {
		if bits&(1<<i) != 0 {
			out[i] -= 'a' - 'A'
		}
	}
	return string(out)
}
