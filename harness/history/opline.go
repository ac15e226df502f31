package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// kinds lists the kinds that an operation may have.
var kinds = []harness.Kind{
	harness.Acquire, harness.Extend, harness.Release, harness.Claim, harness.Confirm, harness.Deliver, harness.Next,
	harness.Add, harness.Read, harness.Inspect,
}

// opLine is an operation in the text form. A required field is nil if it is missing.
type opLine struct {
	Client  *int             `json:"client"`
	Kind    *harness.Kind    `json:"kind"`
	Key     string           `json:"key"`
	Arg     string           `json:"arg"`
	Result  string           `json:"result"`
	TTL     time.Duration    `json:"ttl"`
	Until   time.Duration    `json:"until"`
	Due     time.Duration    `json:"due"`
	Call    *time.Duration   `json:"call"`
	Return  *time.Duration   `json:"return"`
	Outcome *harness.Outcome `json:"outcome"`
	Err     string           `json:"err"`
}

// strictOp reads any line with an operation. Faster readers have to agree with it.
func strictOp(b []byte) (harness.Op, error) {
	var l opLine
	if err := decodeStrictly(b, &l); err != nil {
		return harness.Op{}, err
	}
	for _, f := range []struct {
		name string
		none bool
	}{
		{"client", l.Client == nil}, {"kind", l.Kind == nil}, {"call", l.Call == nil}, {"return", l.Return == nil},
		{"outcome", l.Outcome == nil},
	} {
		if f.none {
			return harness.Op{}, fmt.Errorf("an operation needs %q", f.name)
		}
	}
	return harness.Op{
		Client: *l.Client, Kind: *l.Kind, Key: l.Key, Arg: l.Arg, Result: l.Result, TTL: l.TTL, Until: l.Until,
		Due: l.Due, Call: *l.Call, Return: *l.Return, Outcome: *l.Outcome, Err: l.Err,
	}, nil
}

// checkOp returns an error if op is impossible.
func checkOp(op harness.Op) error {
	switch {
	case op.Client < harness.HarnessClient:
		return fmt.Errorf("client %d: want 0 or more, or %d for what looks at the end", op.Client,
			harness.HarnessClient)
	case min(op.Call, op.TTL, op.Until, op.Due) < 0:
		return checkTimes(op)
	case op.Return < op.Call:
		return fmt.Errorf("it returned at %d, before its call at %d", op.Return, op.Call)
	case op.Kind == harness.Claim && op.Outcome == harness.OK && op.Result != harness.ResultFirst &&
		op.Result != harness.ResultSeen:
		return fmt.Errorf("a claim that is ok has the result %q or %q, not %q", harness.ResultFirst, harness.ResultSeen,
			op.Result)
	case !slices.Contains(kinds, op.Kind):
		return unknownKind(op.Kind)
	}
	return nil
}

// checkTimes returns an error if a time of op is negative. The error names that time.
func checkTimes(op harness.Op) error {
	for _, f := range []struct {
		name string
		time.Duration
	}{{"call", op.Call}, {"ttl", op.TTL}, {"until", op.Until}, {"due", op.Due}} {
		if f.Duration < 0 {
			return fmt.Errorf("%q is %d: times are nanoseconds, and cannot be negative", f.name, int64(f.Duration))
		}
	}
	return nil
}

func unknownKind(k harness.Kind) error {
	var known []string
	for _, k := range kinds {
		known = append(known, string(k))
	}
	return fmt.Errorf("unknown kind %q: choose one of %s", k, strings.Join(known, ", "))
}
