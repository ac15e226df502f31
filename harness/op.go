package harness

import (
	"fmt"
	"strings"
	"time"
)

// Kind names what an operation asks for.
type Kind string

// The kinds of operation that workloads record and checkers know.
const (
	Acquire Kind = "acquire" // take the lock Key for TTL; Arg is the owner's token, Result the fencing token, if any
	Extend  Kind = "extend"  // renew the lease of the lock Key, to TTL from now; Arg is the owner's token
	Release Kind = "release" // give up the lock Key; Arg is the owner's token
	Claim   Kind = "claim"   // ask whether message Key is new in the window TTL; Result is ResultFirst or ResultSeen
	Deliver Kind = "deliver" // deliver message Key, which a Claim with ResultFirst obliges its worker to do
	Confirm Kind = "confirm" // record that message Key was delivered: it stays marked for the window TTL
	Next    Kind = "next"    // draw a number from sequence Key; Arg is the proposal, Result the decimal number returned
	Inspect Kind = "inspect" // read the value of Key into Result, "" if there is none; TTL is the time left, 0: no end
	Add     Kind = "add"     // add the unique integer Arg to the set Key; Result is the lock owner's token, if any
	Read    Kind = "read"    // read the whole set Key; Result is an interval list such as "0-7,9"
)

// guardedSuffix is appended to the key of a lock to get the key of the resource that it guards.
const guardedSuffix = ":resource"

// Guarded returns the key of the resource that a lock guards: a set that only the lock's owner may add to.
func Guarded(lock string) string { return lock + guardedSuffix }

// GuardedBy returns the lock that guards the set key. ok is false if no lock does.
func GuardedBy(key string) (lock string, ok bool) { return strings.CutSuffix(key, guardedSuffix) }

// Results of a Claim.
const (
	ResultFirst = "first" // the message is new: the caller must deliver it
	ResultSeen  = "seen"  // another worker has the message
)

// Outcome says what is known about an operation's effect.
type Outcome uint8

// The outcomes. The zero value is Info: an operation whose outcome was never set counts as unknown.
const (
	Info Outcome = iota // may or may not have taken effect, now or later
	OK                  // took effect
	Fail                // certainly took no effect
)

var outcomeNames = [...]string{Info: "info", OK: "ok", Fail: "fail"}

// String returns "info", "ok" or "fail".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// MarshalText writes the outcome's name.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads an outcome's name.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, name := range outcomeNames {
		if name == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("harness: unknown outcome %q (want info, ok or fail)", text)
}

// Op is one finished operation of one client.
//
// Call and Return are monotonic and count from the start of the run. The interval [Call, Return] is closed: Call is
// taken before the request is sent, and Return after the reply was read or given up on.
type Op struct {
	Client  int           `json:"client"`           // client id; not used again after an operation in Info
	Kind    Kind          `json:"kind"`             // what the operation asks for
	Key     string        `json:"key,omitempty"`    // lock, message, sequence or set
	Arg     string        `json:"arg,omitempty"`    // owner token, proposed number or element, depending on Kind
	Result  string        `json:"result,omitempty"` // what the system answered; its meaning depends on Kind
	TTL     time.Duration `json:"ttl,omitempty"`    // lease or window asked for; 0: none
	Until   time.Duration `json:"until,omitempty"`  // the end that the variant promised, on the run's clock; 0: none
	Due     time.Duration `json:"due,omitempty"`    // when it was due to begin, in an open-loop load; 0: not set
	Call    time.Duration `json:"call"`
	Return  time.Duration `json:"return"`
	Outcome Outcome       `json:"outcome"`
	Err     string        `json:"err,omitempty"` // why the outcome is not OK, such as Held, "timeout" or "READONLY"
}
