// Package checkers judges histories.
//
// A checker here is a streaming pass: it sees every operation once, in order of Return, and keeps what may still decide
// something. Each rule is one that no delay, lost reply or honest clock can break by itself (see the soundness rules in
// the README), so that a violation is always the system's. The pass finds violations; porcupine, which only this package
// knows, certifies them on the smallest window that shows them, and draws that window.
//
//	Mutex     two owners inside their leases
//	Stuck     a lock that is refused when every lease is over
//	Owners    an owner that is not told of its loss, or is refused what it has
//	Holders   a write by an owner whose lease was over, after the next owner's
//	Fence     a later grant with a fencing token that is not larger
//	Dedup     two workers told that a message is new, or one that a delivered message is
//	Delivery  a message marked and never delivered, or marked beyond its window or without an end
//	Sequence  one number issued twice, or a smaller one after a larger one
//	Stored    a stored number that went back, lags behind what was issued, or lost its end
//	Writes    acknowledged and gone, or refused and there; lost updates of what a lock guards
//	Gates     whether the run could have shown anything at all
package checkers
