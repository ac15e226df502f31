package keyspace

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// horizon is how long after Epoch a stored number still counts as an instant.
const horizon = 24 * time.Hour

// footer is the number of bytes that DUMP adds to a value: version and checksum.
const footer = 10

// units are the units in which algorithms count the time since 1970.
var units = []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// Instants returns the instants that a value names, as virtual times in whole milliseconds, sorted. dump is the value
// as DUMP writes it, uncompressed. Any number counts, as text or in binary, that is a time since 1970 in seconds,
// milliseconds, microseconds or nanoseconds. Redis writes whole numbers in 4 or 8 bytes, scores as floating-point
// numbers, and stream ids in big-endian order. A number with another meaning only adds an instant, which makes a search
// longer, never wrong.
func Instants(dump string) (all []time.Duration) {
	dump = dump[:max(0, len(dump)-footer)]
	all = textInstants(dump)
	for at := range len(dump) {
		if len(dump)-at >= 4 {
			all = appendInstant(all, float64(binary.LittleEndian.Uint32([]byte(dump[at:at+4]))))
		}
		if len(dump)-at >= 8 {
			eight := []byte(dump[at : at+8])
			for _, n := range []uint64{binary.LittleEndian.Uint64(eight), binary.BigEndian.Uint64(eight)} {
				all = appendInstant(all, float64(n))
			}
			all = appendInstant(all, math.Float64frombits(binary.LittleEndian.Uint64(eight)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Named returns the instants that the values of keys name, sorted, each once.
func Named(keys []Key) (all []time.Duration) {
	for _, k := range keys {
		all = append(all, Instants(k.Dump)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// textInstants returns the instants that are written in decimal.
func textInstants(text string) (all []time.Duration) {
	isNumber := func(r byte) bool { return r >= '0' && r <= '9' || r == '.' }
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && isNumber(text[end]) {
			end++
		}
		if n, err := strconv.ParseFloat(strings.TrimRight(text[at:end], "."), 64); err == nil && end-at >= 10 {
			all = appendInstant(all, n)
		}
		at = end + 1
	}
	return all
}

// appendInstant appends the instants that n stands for in any unit, if they are within horizon after Epoch. A float
// with today's nanoseconds is exact to a quarter of a microsecond.
func appendInstant(all []time.Duration, n float64) []time.Duration {
	for _, unit := range units {
		// false for NaN
		if after := n*float64(unit) - float64(Epoch.UnixNano()); after > 0 && after < float64(horizon) {
			all = append(all, time.Duration(after).Round(time.Microsecond).Truncate(Grain))
		}
	}
	return all
}
