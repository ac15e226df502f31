package explore

import (
	"fmt"
	"strings"
)

// MaxClients is how many clients a search can have; it needs two at least.
const MaxClients = 4

// Choice is what happens next in a schedule: a client takes its next step or crashes before it, or the world moves.
type Choice uint8

// What the world can do. Each of these is bounded by the Budget.
const (
	Expiry  Choice = 64 + iota // time passes until every lease and every key with a TTL of less than a day is over
	Hold                       // the replica that will be promoted hears nothing any more
	Promote                    // that replica becomes the primary; what it did not hear is lost
	Flush                      // SCRIPT FLUSH
	Probe                      // the harness asks, after the last step; no part of a schedule
)

const crashes Choice = 32

// Run is the choice that the client i, counted from 0, takes its next step.
func Run(i int) Choice { return Choice(i) }

// Crash is the choice that the client i, counted from 0, crashes before its next step: it is never heard of again.
func Crash(i int) Choice { return crashes + Choice(i) }

// Client is the client that the choice is about, counted from 0. It is false for what the world does.
func (c Choice) Client() (i int, ok bool) {
	if c >= Expiry {
		return 0, false
	}
	return int(c % crashes), true
}

// IsCrash reports whether a client crashes.
func (c Choice) IsCrash() bool { return c >= crashes && c < Expiry }

var worldNames = map[Choice]string{
	Expiry: "expiry", Hold: "hold replication", Promote: "promote the replica", Flush: "script flush", Probe: "probe",
}

// String says it in words: "client 1", "crash of client 1", "expiry".
func (c Choice) String() string {
	i, ok := c.Client()
	switch {
	case !ok:
		return worldNames[c]
	case c.IsCrash():
		return fmt.Sprintf("crash of client %d", i+1)
	}
	return fmt.Sprintf("client %d", i+1)
}

// MarshalText writes the choice as String does.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (c *Choice) UnmarshalText(text []byte) error {
	for choice, name := range worldNames {
		if name == string(text) {
			*c = choice
			return nil
		}
	}
	who, crash := strings.CutPrefix(string(text), "crash of ")
	for i := range MaxClients {
		if who == Run(i).String() {
			if *c = Run(i); crash {
				*c = Crash(i)
			}
			return nil
		}
	}
	return fmt.Errorf("explore: unknown choice %q", text)
}

// Budget is how often the world may interfere with one schedule.
type Budget struct {
	Clients   int `json:"clients"`   // 2 to MaxClients
	Crashes   int `json:"crashes"`   // clients that crash
	Expiries  int `json:"expiries"`  // times that all leases end
	Failovers int `json:"failovers"` // promotions of a replica that has not heard everything
	Flushes   int `json:"flushes"`   // SCRIPT FLUSH
}
