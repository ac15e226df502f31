package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// dur writes a length of time with three digits and the unit that suits it.
func dur(d time.Duration) string {
	switch a := d.Abs(); {
	case a == 0:
		return "0 s"
	case a < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case a < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case a < time.Second:
		return digits(float64(d)/1e6) + " ms"
	case a < 2*time.Minute:
		return digits(d.Seconds()) + " s"
	default:
		return clock(d.Round(time.Second))
	}
}

// took writes a latency; none was measured when it is zero.
func took(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return dur(d)
}

// digits writes v with three digits, thousands apart.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return count(int64(math.Round(v)))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// clock writes a length of time as 2:05 or 1:02:05.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// at writes a time on the run's clock.
func at(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s" }

// after writes a distance from something earlier.
func after(d time.Duration) string {
	if d < 0 {
		return "−" + dur(-d)
	}
	return "+" + dur(d)
}

// count writes n with its thousands apart.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// rate writes operations a second.
func rate(v float64) string {
	if v != 0 && v < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " ops/s"
	}
	return whole(v) + " ops/s"
}

// whole writes v without a fraction.
func whole(v float64) string { return count(int64(math.Round(v))) }

// short writes v for an axis: 1.5k, 2M.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	case v == math.Trunc(v):
		return count(int64(v))
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// figure writes a number of a judgement.
func figure(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return count(int64(v))
	}
	return digits(v)
}

// plural writes n things.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// clip shortens s to n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// and joins words as a sentence does.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
