package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Duration writes a length of time with three digits and a suitable unit. From two minutes on it writes the same as
// Clock.
func Duration(d time.Duration) string {
	switch a := d.Abs(); {
	case a == 0:
		return "0 s"
	case a < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case a < time.Millisecond:
		return Digits(float64(d)/1e3) + " µs"
	case a < time.Second:
		return Digits(float64(d)/1e6) + " ms"
	case a < 2*time.Minute:
		return Digits(d.Seconds()) + " s"
	default:
		return Clock(d.Round(time.Second))
	}
}

// Took writes a latency. It writes a dash for 0, which means that none was measured.
func Took(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return Duration(d)
}

// Digits writes v with three digits. From 100 on it writes a whole number with commas between thousands.
func Digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95:
		return Count(int64(math.Round(v)))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// Clock writes a length of time in minutes and seconds, 2:05, or in hours, 1:02:05.
func Clock(d time.Duration) string {
	s := int64(d / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// At writes a time on the run's clock in seconds, such as "1.480 s".
func At(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + " s" }

// After writes the time since an earlier event, with its sign, such as "+1.48 s".
func After(d time.Duration) string {
	if d < 0 {
		return "−" + Duration(-d)
	}
	return "+" + Duration(d)
}

// Count writes n with commas between thousands, such as "12,400".
func Count(n int64) string {
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

// Rate writes operations a second, such as "5,240 ops/s"; with one decimal below ten.
func Rate(v float64) string {
	if v != 0 && v < 10 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " ops/s"
	}
	return Whole(v) + " ops/s"
}

// Number writes v with at most two decimals, without trailing zeros.
func Number(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// Whole writes v without a fraction.
func Whole(v float64) string { return Count(int64(math.Round(v))) }

// Short writes v for an axis: 1.5k, 2M.
func Short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 3, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 3, 64) + "k"
	case v == math.Trunc(v):
		return Count(int64(v))
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// Figure writes the value of a judgement's figure: whole numbers as Count does, others as Digits does.
func Figure(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return Count(int64(v))
	}
	return Digits(v)
}

// Plural writes n with the right form of a noun, such as "1 run" or "12 runs".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Clip shortens s to n runes, at least 1, with an ellipsis at the end.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// And joins words as in a sentence: "a, b and c".
func And(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// MiB converts bytes to MiB.
func MiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// Size writes a number of bytes in MiB, from 10 GiB on in GiB.
func Size(bytes int64) string {
	if bytes >= 10<<30 {
		return Digits(float64(bytes)/(1<<30)) + " GiB"
	}
	return Whole(MiB(bytes)) + " MiB"
}
