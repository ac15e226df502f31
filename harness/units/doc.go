// Package units writes times, counts and rates for people: "1.48 s", "12,400", "5,240 ops/s".
//
// Programs read JSON, which has nanoseconds and plain numbers. This package is for reports, terminals and logs.
package units
