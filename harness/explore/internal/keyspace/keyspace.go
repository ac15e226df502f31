// Package keyspace describes the content of a store: keys, and when they end in the virtual time of a schedule.
package keyspace

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// midnight is the instant shortly before which every schedule begins. It is a whole number of seconds, minutes, hours
// and days, so an algorithm that counts time in these units meets the end of one.
var midnight = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// UntilMidnight is the time from Epoch, where virtual time begins, to midnight. It is short, so that schedules meet the
// change of day. A schedule begins half a millisecond after Epoch.
const UntilMidnight = 3 * time.Millisecond

// Epoch is the time of day, on the clocks of servers and clients, at which virtual time is 0.
var Epoch = midnight.Add(-UntilMidnight)

// Grain is Redis's unit of time. A key that ends at t exists at t, and is gone a millisecond later.
const Grain = time.Millisecond

// RoundUp returns d rounded up to a multiple of unit.
func RoundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// End is when a key expires.
type End struct {
	Key string
	At  time.Duration // last virtual time at which the key exists
}

// Key is a key with its value as DUMP writes it.
type Key struct {
	Name, Dump string
	End        time.Duration // last virtual time at which the key exists; NoEnd: the key does not expire
}

// NoEnd is the End of a key that does not expire.
const NoEnd = time.Duration(-1)

// HasEnded reports whether a key with a given end is gone at a given time. Redis counts in milliseconds.
func HasEnded(end, now time.Duration) bool { return now.Truncate(Grain) > end }

// horizon is the time after Epoch within which a stored number counts as an instant.
const horizon = 24 * time.Hour

// footer is the number of bytes that DUMP adds to a value: version and checksum.
const footer = 10

// units are the units in which algorithms count the time since 1970.
var units = []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// Instants returns the instants that a value names, as virtual times in whole milliseconds, sorted. The parameter dump
// is the value as DUMP writes it, uncompressed. Any number counts, as text or in binary, that is a time since 1970 in
// seconds, milliseconds, microseconds or nanoseconds. Redis writes whole numbers in 4 or 8 bytes, scores as
// floating-point numbers, and stream ids in big-endian order. A number with another meaning only adds an instant, which
// makes a search longer, never wrong.
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

// appendInstant appends the instants that n stands for in any unit, if they are within horizon after Epoch. A float64
// is exact enough for this: it holds today's time in nanoseconds to a quarter of a microsecond.
func appendInstant(all []time.Duration, n float64) []time.Duration {
	for _, unit := range units {
		// false for NaN
		if after := n*float64(unit) - float64(Epoch.UnixNano()); after > 0 && after < float64(horizon) {
			all = append(all, time.Duration(after).Round(time.Microsecond).Truncate(Grain))
		}
	}
	return all
}
