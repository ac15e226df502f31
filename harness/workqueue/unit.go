package workqueue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Unit is a piece of work: everything that its result depends on.
type Unit struct {
	Kind    string `json:"kind"`             // tells which code can do the unit, for example "piece"
	Program string `json:"program"`          // version of doublegrant
	Server  string `json:"server,omitempty"` // server to run on, for example "Redis 7.0.15"; empty: any server
	Body    []byte `json:"body"`             // the work, in the format of the unit's kind; at most MostBytes
}

// ID names a unit by its content. It consists of letters and digits.
func (u Unit) ID() string {
	hash := sha256.New()
	for _, part := range []string{u.Kind, u.Program, u.Server, string(u.Body)} {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part))) // never fails
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// MostBytes bounds the body of a unit or a result. Bodies are held in memory.
const MostBytes = 512 << 20

// Tries is how often a unit is handed out before it is given up.
const Tries = 3

// RetryAfter is how long a failed unit waits for its next try. The cause may be gone by then.
const RetryAfter = time.Second

// Try is one attempt of a worker at a unit.
type Try struct {
	Worker string `json:"worker"`
	Why    string `json:"why"`              // what became of the try, starting with the worker's name
	Failed bool   `json:"failed,omitempty"` // the worker reported a failure; false: the try is under way or was lost
}

// Outcomes lists what became of tries.
func Outcomes(tries []Try) (all []string) {
	for _, t := range tries {
		all = append(all, t.Why)
	}
	return all
}

// FailedBy reports whether the worker has failed the unit.
func FailedBy(tries []Try, worker string) bool {
	return slices.ContainsFunc(tries, func(t Try) bool { return t.Failed && t.Worker == worker })
}

// Result is the result of a unit.
type Result struct {
	Body []byte // in the format of the unit's kind; at most MostBytes

	// Claim is what every result of the unit has to have in common, usually a digest. A result with an empty claim
	// contradicts no other.
	Claim string
}

// Contradicts reports whether a result with another claim contradicts this one.
func (r Result) Contradicts(claim string) bool {
	return r.Claim != "" && claim != "" && r.Claim != claim
}

// Outcome is the final state of a unit.
type Outcome struct {
	Result
	Worker string   // worker that did the unit; empty: the unit was given up
	Failed []string // what became of tries without a result, in order
}

// GivenUp reports whether the unit was given up without a result.
func (o Outcome) GivenUp() bool { return o.Worker == "" }

// Why joins the texts of Failed.
func (o Outcome) Why() string { return strings.Join(o.Failed, "; ") }
