// Package checkers judges histories.
//
// A checker is a streaming pass. It sees every operation once, in order of Return, and keeps only what may still decide
// something. No rule can be broken by a delay, a lost reply or an honest clock alone: see the soundness rules in the
// README. So a violation is always the system's fault. The pass finds violations. Porcupine, which only this package
// imports, certifies each one on the smallest window of operations that shows it, and draws that window.
//
//	Mutex     two owners inside their leases
//	Stuck     a lock that is refused after every lease has ended
//	Owners    an owner that is not told of its loss, or is refused a lock that it has
//	Holders   a write by an owner after its lease has ended and the next owner has written
//	Fence     a later grant with a fencing token that is not larger
//	Dedup     a message that two workers are told is new, or that is new again after it was confirmed
//	Delivery  a message marked and never delivered, or marked beyond its window or without an end
//	Sequence  one number issued twice, or a smaller one after a larger one
//	Stored    a stored number that went back, lags behind the numbers issued, or lost its TTL
//	Writes    a write acknowledged and gone, or refused and present; lost updates of what a lock guards
//	Gates     whether the run could have shown anything at all
package checkers
