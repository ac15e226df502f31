package checkers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// interval is a closed range of integers.
type interval struct{ low, high int64 }

// intervals is a set of integers, as disjoint ranges in ascending order.
type intervals []interval

// parseIntervals parses the Result of a Read: integers and closed ranges of integers, separated by commas, such as
// "0-7,9,12-40". The empty string is the empty set. Numbers may be negative: "-3--1" is a range.
func parseIntervals(s string) (intervals, error) {
	if s == "" {
		return nil, nil
	}
	var out intervals
	for part := range strings.SplitSeq(s, ",") {
		in, err := parseInterval(part)
		if err != nil {
			return nil, err
		}
		out = append(out, in)
	}
	slices.SortFunc(out, func(a, b interval) int { return cmp.Compare(a.low, b.low) })
	return out.merged(), nil
}

// merged joins ranges that overlap. Its receiver has the ranges in order of their low ends.
func (in intervals) merged() intervals {
	out := in[:1]
	for _, r := range in[1:] {
		if last := &out[len(out)-1]; r.low <= last.high {
			last.high = max(last.high, r.high)
			continue
		}
		out = append(out, r)
	}
	return out
}

func parseInterval(s string) (interval, error) {
	low, high := s, s
	if i := strings.LastIndex(s, "-"); i > 0 {
		if s[i-1] == '-' { // the second number is negative
			i--
		}
		low, high = s[:i], s[i+1:]
	}
	a, errLow := strconv.ParseInt(low, 10, 64)
	b, errHigh := strconv.ParseInt(high, 10, 64)
	if errLow != nil || errHigh != nil || b < a {
		return interval{}, fmt.Errorf("%q is neither an integer nor a range of integers", s)
	}
	return interval{a, b}, nil
}

// has reports whether v is in the set.
func (in intervals) has(v int64) bool {
	i, found := slices.BinarySearchFunc(in, v, func(r interval, v int64) int { return cmp.Compare(r.low, v) })
	return found || i > 0 && v <= in[i-1].high
}
