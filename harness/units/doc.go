// Package units writes times, counts and rates as people read them: "1.48 s", "12,400", "5,240 ops/s".
//
// Programs read JSON, which has nanoseconds and plain numbers. What is written here is for reports, terminals and logs.
package units
