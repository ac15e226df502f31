package workloads

import (
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file chooses which messages come again, and when. Their ages are spread over the window and some time after it.
// Inside the window a filter must remember a message, and after the window it has to have forgotten the message.

// redelivered is the share of deliveries that repeat an earlier message.
const redelivered = 0.05

// ageBand is a range of ages, and the share of the repeated messages that have such an age. The fields from and to
// count windows: at age 1 the window ends.
type ageBand struct{ share, from, to float64 }

// ageBands cover the window and some time after it. They leave out about a hundredth of a window on both sides of the
// window's end. Clocks may be wrong by that much, so an answer there proves nothing.
var ageBands = []ageBand{
	{0.15, 0, 0.1},
	{0.30, 0.1, 0.94},
	{0.35, 0.94, 0.985},
	{0.20, 1.012, 1.2},
}

// drawRepeated chooses an earlier message to deliver again. It draws an age and takes a message of about that age, or
// now and then a message whose confirm is delayed. It returns false if there is no such message.
func (d *dedups) drawRepeated(s *harness.Session) (int64, bool) {
	if number, ok := d.slow.draw(s.Rand); ok && s.Rand.IntN(4) == 0 {
		return number, true
	}
	p, now, window := s.Rand.Float64(), s.Now(), float64(d.opts.TTL)
	for _, b := range ageBands {
		if p -= b.share; p < 0 {
			return d.marks.draw(s.Rand, now-time.Duration(b.to*window), now-time.Duration(b.from*window))
		}
	}
	return 0, false
}

// sampledTimes keeps messages with a time each, such as when they were marked. Of messages that come close together it
// keeps only one. It is safe for concurrent use. A new value needs only its window.
type sampledTimes struct {
	window time.Duration

	mu       sync.Mutex
	earliest []sampledTime // messages from the beginning of the load, in order of time
	latest   []sampledTime // messages from the last two windows or more, in order of time
}

// sampledTime is a message and its time.
type sampledTime struct {
	number int64
	at     time.Duration
}

const (
	entriesAWindow = 4096
	firstEntries   = 200
	firstAWindow   = 50
)

// add adds a message, unless another one was added just before.
func (d *sampledTimes) add(number int64, at time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.latest); n > 0 && at < d.latest[n-1].at+d.window/entriesAWindow {
		return
	}
	if len(d.latest) == 4*entriesAWindow {
		d.latest = append(d.latest[:0], d.latest[2*entriesAWindow:]...)
	}
	d.latest = append(d.latest, sampledTime{number, at})
	if n := len(d.earliest); n < firstEntries && (n == 0 || at >= d.earliest[n-1].at+d.window/firstAWindow) {
		d.earliest = append(d.earliest, sampledTime{number, at})
	}
}

// draw returns a random message with a time in [from, to], and false if there is none.
func (d *sampledTimes) draw(rng *rand.Rand, from, to time.Duration) (number int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := sort.Search(len(d.latest), func(i int) bool { return d.latest[i].at >= from })
	j := sort.Search(len(d.latest), func(i int) bool { return d.latest[i].at > to })
	if i == j {
		return 0, false
	}
	return d.latest[i+rng.IntN(j-i)].number, true
}

// oldest lists the earliest n messages. It leaves out messages whose time is after the argument until.
func (d *sampledTimes) oldest(n int, until time.Duration) (numbers []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.earliest {
		if e.at <= until && len(numbers) < n {
			numbers = append(numbers, e.number)
		}
	}
	return numbers
}

// timeOf returns roughly when a message came: the time of the kept message with that number or with the next smaller
// one. It returns 0 if there is no such message. Numbers have to grow with time.
func (d *sampledTimes) timeOf(number int64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, entries := range [][]sampledTime{d.latest, d.earliest} {
		i := sort.Search(len(entries), func(i int) bool { return entries[i].number > number })
		if i > 0 {
			return entries[i-1].at
		}
	}
	return 0
}

// slowClaims holds the messages whose workers delay their confirm on purpose.
type slowClaims struct {
	mu      sync.Mutex
	numbers []int64
}

const (
	slowToConfirm = 0.002 // share of the claims whose confirm is slow
	slowAtOnce    = 3     // number of workers that may delay a confirm at the same time
)

// wait delays the confirm of a claim by 0.3 to 1.6 times the claim's lease. It returns at once if slowAtOnce other
// confirms are delayed already.
func (c *slowClaims) wait(s *harness.Session, number int64, claim harness.Op) {
	if !c.begin(number) {
		return
	}
	defer c.end(number)
	s.Sleep(drawPart(s.Rand, claim.TTL, 0.3, 1.6))
}

func (c *slowClaims) begin(number int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.numbers) == slowAtOnce {
		return false
	}
	c.numbers = append(c.numbers, number)
	return true
}

func (c *slowClaims) end(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.numbers, number)
	c.numbers = slices.Delete(c.numbers, i, i+1)
}

// draw returns a random message whose confirm is delayed, and false if there is none.
func (c *slowClaims) draw(rng *rand.Rand) (number int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.numbers) == 0 {
		return 0, false
	}
	return c.numbers[rng.IntN(len(c.numbers))], true
}
