package explore

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxClients is how many clients a search can have; it needs two at least.
const MaxClients = 4

// Choice is what happens next in a schedule: a client takes its next step, or something happens to the client, to its
// command or to the world.
type Choice uint8

// Choices come in groups of 32, by what happens. Within a group they are told apart by a number.
const group = 32

const (
	runs         Choice = iota * group // a client takes its next step
	crashes                            // a client crashes before its next step
	lostAnswers                        // a client's command is executed, and its answer is lost
	lostCommands                       // a client's command is lost
	delays                             // a client gives its command up, which is executed later
	times                              // time passes
	arrivals                           // a command that its client has given up is executed
	worldly                            // something else that the world does
)

// What else the world can do. Each of these is bounded by the Budget.
const (
	Hold    Choice = worldly + iota // the replica that will be promoted hears nothing any more
	Promote                         // that replica becomes the primary; what it did not hear is lost
	Flush                           // SCRIPT FLUSH
	Probe                           // the harness asks, after the last step; no part of a schedule
)

// Run is the choice that the client i, counted from 0, takes its next step.
func Run(i int) Choice { return runs + Choice(i) }

// Crash is the choice that the client i, counted from 0, crashes before its next step: it is never heard of again.
func Crash(i int) Choice { return crashes + Choice(i) }

// LoseAnswer is the choice that the next command of client i, counted from 0, is executed, and that the client waits for
// its answer in vain. It goes on with an error.
func LoseAnswer(i int) Choice { return lostAnswers + Choice(i) }

// LoseCommand is the choice that the next command of client i, counted from 0, is never executed. To the client it is the
// same as LoseAnswer.
func LoseCommand(i int) Choice { return lostCommands + Choice(i) }

// Delay is the choice that the next command of client i, counted from 0, comes late: the client goes on with an error,
// and the command is executed at some later Arrive.
func Delay(i int) Choice { return delays + Choice(i) }

// Arrive is the choice that the nth late command of the schedule, counted from 0, is executed.
func Arrive(n int) Choice { return arrivals + Choice(n) }

// Pass is the choice that time passes to the nth, counted from 0, of the next instants that matter: to the last
// millisecond of some lease, or to the first after it.
func Pass(n int) Choice { return times + Choice(n) }

// Client is the client that the choice is about, counted from 0. It is false for what the world does.
func (c Choice) Client() (i int, ok bool) {
	if c >= times {
		return 0, false
	}
	return int(c % group), true
}

// kind is the group to which the choice belongs.
func (c Choice) kind() Choice { return c / group * group }

// number tells the choice apart from others of its kind.
func (c Choice) number() int { return int(c % group) }

// IsCrash reports whether a client crashes.
func (c Choice) IsCrash() bool { return c.kind() == crashes }

// IsTime reports whether time passes.
func (c Choice) IsTime() bool { return c.kind() == times }

// Unanswered reports whether a client waits for an answer in vain.
func (c Choice) Unanswered() bool {
	return c.kind() == lostAnswers || c.kind() == lostCommands || c.kind() == delays
}

var worldNames = map[Choice]string{
	Hold: "hold replication", Promote: "promote the replica", Flush: "script flush", Probe: "probe",
}

// kindNames name the groups whose choices are told apart by a number from 1. A Run has the shortest.
var kindNames = []struct {
	kind   Choice
	prefix string
	most   int // how many choices of the group there are
}{
	{runs, "client ", MaxClients},
	{crashes, "crash of client ", MaxClients},
	{lostAnswers, "lost answer to client ", MaxClients},
	{lostCommands, "lost command of client ", MaxClients},
	{delays, "late command of client ", MaxClients},
	{times, "time ", group},
	{arrivals, "arrival ", group},
}

// String says it in words: "client 1", "crash of client 1", "late command of client 2", "arrival 1", "time 2".
func (c Choice) String() string {
	for _, k := range kindNames {
		if c.kind() == k.kind {
			return k.prefix + strconv.Itoa(c.number()+1)
		}
	}
	return worldNames[c]
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
	for _, k := range kindNames {
		digits, ok := strings.CutPrefix(string(text), k.prefix)
		n, err := strconv.Atoi(digits)
		if ok && err == nil && n >= 1 && n <= k.most && digits == strconv.Itoa(n) {
			*c = k.kind + Choice(n-1)
			return nil
		}
	}
	return fmt.Errorf("explore: unknown choice %q: an older program wrote it, so explore again", text)
}
