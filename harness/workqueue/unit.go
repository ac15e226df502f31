package workqueue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// Unit is a piece of work: all on which its result depends.
type Unit struct {
	Kind    string `json:"kind"`             // says who can do it, such as "piece"
	Program string `json:"program"`          // version of doublegrant, which plans and judges
	Server  string `json:"server,omitempty"` // that the work is done on, such as "Redis 7.0.15"; empty: any
	Body    []byte `json:"body"`             // the work itself, in the format of its kind; at most MostBytes
}

// ID names a unit by its content. It has letters and digits only.
func (u Unit) ID() string {
	hash := sha256.New()
	for _, part := range []string{u.Kind, u.Program, u.Server, string(u.Body)} {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part))) // a hash takes all
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// MostBytes bounds the body of a unit, and that of a result: both are held in memory.
const MostBytes = 512 << 20

// Tries is how often a unit is handed out before it is given up.
const Tries = 3

// RetryAfter is how long a unit that a worker has failed waits for its next try. What was in the way may go meanwhile.
const RetryAfter = time.Second

// Try is a unit in the hands of one worker.
type Try struct {
	Worker string `json:"worker"`
	Why    string `json:"why"`              // what became of it, with the worker's name
	Failed bool   `json:"failed,omitempty"` // the worker said so; otherwise it may be under way, or was lost
}

// Whys lists what became of tries.
func Whys(tries []Try) (all []string) {
	for _, t := range tries {
		all = append(all, t.Why)
	}
	return all
}

// FailedBy reports whether the worker has failed the unit.
func FailedBy(tries []Try, worker string) bool {
	return slices.ContainsFunc(tries, func(t Try) bool { return t.Failed && t.Worker == worker })
}

// Result is what came of a unit.
type Result struct {
	Body []byte // in the format of the unit's kind; at most MostBytes

	// Claim is what every result of the unit has to have in common, usually a digest. Empty: this one claims nothing,
	// so that no other can contradict it.
	Claim string
}

// Contradicts reports whether two results of one unit cannot both be right.
func (r Result) Contradicts(claim string) bool {
	return r.Claim != "" && claim != "" && r.Claim != claim
}

// Outcome is what is kept of a unit.
type Outcome struct {
	Result
	Worker string   // who did it; empty: the unit was given up
	Failed []string // what became of the tries that came to nothing, in order
}

// GivenUp reports whether the unit came to no result.
func (o Outcome) GivenUp() bool { return o.Worker == "" }

// Why says what became of the tries that came to nothing.
func (o Outcome) Why() string { return strings.Join(o.Failed, "; ") }
