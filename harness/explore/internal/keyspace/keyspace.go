// Package keyspace describes the content of a store: keys, and when they end in the virtual time of a schedule.
package keyspace

import "time"

// midnight is the instant shortly before which every schedule begins. It is a whole number of seconds, minutes, hours
// and days, so an algorithm that counts time in these units meets the end of one.
var midnight = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// UntilMidnight is the time from Epoch to midnight. A schedule begins half a millisecond after Epoch.
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
	End        time.Duration // last virtual time at which it exists; NoEnd: it does not expire
}

// NoEnd is the End of a key that does not expire.
const NoEnd = time.Duration(-1)

// HasEnded reports whether a key with that end is gone now. Redis counts in milliseconds.
func HasEnded(end, now time.Duration) bool { return now.Truncate(Grain) > end }
