package workloads

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Regime names how the callers of a sequence choose the number that they propose.
type Regime string

// The regimes.
const (
	Fixed       Regime = "fixed"       // everybody proposes 23, as the test of 004 does
	Timestamp17 Regime = "timestamp17" // yyMMddHHmmssSSS and two random digits, as in 004: 17 digits, beyond 2^53
	Growing     Regime = "growing"     // 1, 2, 3 and so on, each caller a little behind: crosses 9 to 10, 99 to 100, ...
)

// Regimes lists them all.
func Regimes() []Regime { return []Regime{Fixed, Timestamp17, Growing} }

// ParseRegime returns the regime of that name.
func ParseRegime(name string) (Regime, error) {
	var known []string
	for _, r := range Regimes() {
		if string(r) == name {
			return r, nil
		}
		known = append(known, string(r))
	}
	return "", fmt.Errorf("unknown regime %q: choose one of %s", name, strings.Join(known, ", "))
}

// proposals makes the next proposal. It may be called concurrently, each caller with its own rng.
type proposals func(rng *rand.Rand) string

// growingLag is how far behind the newest number a caller of Growing may be.
const growingLag = 20

// generator returns fresh proposals of the regime.
func (r Regime) generator() proposals {
	switch r {
	case Timestamp17:
		return func(rng *rand.Rand) string { return timestamp17(time.Now(), rng) }
	case Growing:
		var n atomic.Int64
		return func(rng *rand.Rand) string {
			return strconv.FormatInt(max(1, n.Add(1)-rng.Int64N(growingLag)), 10)
		}
	default:
		return func(*rand.Rand) string { return "23" }
	}
}

// timestamp17 is the business number of 004, such as 16081817202494579.
func timestamp17(t time.Time, rng *rand.Rand) string {
	return fmt.Sprintf("%s%03d%02d", t.Format("060102150405"), t.Nanosecond()/int(time.Millisecond), rng.IntN(100))
}
