package workloads

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Regime names how the callers of a sequence choose the number that they propose.
type Regime string

// The regimes.
const (
	Fixed Regime = "fixed" // everybody proposes 23, as in the test of "Unique serial numbers"
	// yyMMddHHmmssSSS and two random digits, as in "Unique serial numbers": 17 digits, beyond 2^53
	Timestamp17 Regime = "timestamp17"
	// Growing: the number of proposals so far, less a small random lag; the numbers get longer at 10 and at 100
	Growing      Regime = "growing"
	ClockBack    Regime = "clock-back"    // timestamp17, but now and then a caller's clock has stepped back by seconds
	Beyond53     Regime = "beyond-2^53"   // as growing, from just below 2^53: soon no Lua number holds them exactly
	LeadingZeros Regime = "leading-zeros" // as growing, and half of the numbers are padded with zeros to a fixed width
)

// Doc says in one line what the regime's callers propose, and why.
func (r Regime) Doc() string {
	return map[Regime]string{
		Fixed:       "everybody proposes " + fixedProposal + ": does the script count on from what is stored?",
		Timestamp17: "yyMMddHHmmssSSS and two random digits: 17 digits, which no Lua number holds exactly",
		Growing: "1, 2, 3 and so on, each caller a little behind: from 9 to 10 and from 99 to 100, where text " +
			"compares wrongly",
		ClockBack:    "timestamp17, but now and then a caller's clock has stepped back by up to 10 seconds",
		Beyond53:     "as growing, from just below 2^53: soon no Lua number holds them exactly",
		LeadingZeros: "as growing, and half of the numbers are padded with zeros to a fixed width",
	}[r]
}

// Regimes lists all regimes.
func Regimes() []Regime {
	return []Regime{Fixed, Timestamp17, Growing, ClockBack, Beyond53, LeadingZeros}
}

// ParseRegime returns the regime of that name.
func ParseRegime(name string) (Regime, error) {
	var names []string
	for _, r := range Regimes() {
		if string(r) == name {
			return r, nil
		}
		names = append(names, string(r))
	}
	return "", fmt.Errorf("unknown regime %q: %s", name, suggest.DidYouMean(name, names))
}

// proposals makes the next proposal. It may be called concurrently, each caller with its own rng.
type proposals func(rng *rand.Rand) string

const (
	fixedProposal = "23"
	growingLag    = 20 // how far behind the newest number a caller of Growing may be

	steppedBack = 0.05             // share of ClockBack's proposals from a clock that has stepped back
	stepBack    = 10 * time.Second // the largest step back of a clock

	twoTo53  = 1 << 53 // 9007199254740992: up to here a double holds every integer
	below53  = 100     // how far below 2^53 the numbers of Beyond53 begin
	zeroPads = 8       // the width of padded numbers, which a run's largest number does not reach
)

// generator returns a function that makes the regime's proposals, one with each call.
func (r Regime) generator() proposals {
	switch r {
	case Timestamp17:
		return func(rng *rand.Rand) string { return timestamp17(time.Now(), rng) }
	case ClockBack:
		return func(rng *rand.Rand) string { return timestamp17(clockBack(time.Now(), rng), rng) }
	case Growing:
		next := growingFrom(1)
		return func(rng *rand.Rand) string { return strconv.FormatInt(next(rng), 10) }
	case Beyond53:
		next := growingFrom(twoTo53 - below53)
		return func(rng *rand.Rand) string { return strconv.FormatInt(next(rng), 10) }
	case LeadingZeros:
		next := growingFrom(1)
		return func(rng *rand.Rand) string { return padAtRandom(next(rng), rng) }
	default:
		return func(*rand.Rand) string { return fixedProposal }
	}
}

// growingFrom returns a function that counts its calls, beginning at the number start. That function returns the count
// less a small random lag, but never less than start.
func growingFrom(start int64) func(*rand.Rand) int64 {
	var n atomic.Int64
	return func(rng *rand.Rand) int64 { return start + max(0, n.Add(1)-1-rng.Int64N(growingLag)) }
}

// timestamp17 returns a business number as in "Unique serial numbers", such as 16081817202494579.
func timestamp17(t time.Time, rng *rand.Rand) string {
	return fmt.Sprintf("%s%03d%02d", t.Format("060102150405"), t.Nanosecond()/int(time.Millisecond), rng.IntN(100))
}

// clockBack returns t as a caller's clock shows it. In a few calls that clock has stepped back, by a second or more.
func clockBack(t time.Time, rng *rand.Rand) time.Time {
	if rng.Float64() >= steppedBack {
		return t
	}
	return t.Add(-time.Second - time.Duration(rng.Int64N(int64(stepBack-time.Second))))
}

// padAtRandom writes n plainly, or with leading zeros.
func padAtRandom(n int64, rng *rand.Rand) string {
	if rng.IntN(2) == 0 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%0*d", zeroPads, n)
}

// sample returns what a client proposes in its call, both counted from 0. The explorer uses it in place of generator,
// since each replay of a schedule needs the same proposals. The first client calls three times and up to three others
// once. The effect of each regime shows in some order of the first two calls of client 0 and the first of client 1:
//
//	fixed          99 from everybody: the number after it has one digit more
//	timestamp17    16081817202494579 from everybody, the sample of "Unique serial numbers"
//	growing        from 8 on, one more for each client and each call: crosses 9 to 10
//	clock-back     the sample of "Unique serial numbers", and in the next call the same a second earlier
//	beyond-2^53    from 9007199254740992 on, one more for each client and each call
//	leading-zeros  09, 9 and 009 in turn
func (r Regime) sample(client, call int) string {
	switch r {
	case Timestamp17:
		return strconv.FormatInt(sample17, 10)
	case Growing:
		return strconv.Itoa(8 + client + call)
	case ClockBack:
		return strconv.FormatInt(sample17-int64(call)*second17, 10)
	case Beyond53:
		return strconv.FormatInt(twoTo53+int64(client+call), 10)
	case LeadingZeros:
		return []string{"09", "9", "009"}[(client+call)%3]
	default:
		return "99"
	}
}

const (
	sample17 = 16081817202494579 // the sample of "Unique serial numbers"
	second17 = 100 * 1000        // one second in numbers of Timestamp17, as long as the minute stays the same
)
