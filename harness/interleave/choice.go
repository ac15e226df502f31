package interleave

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxClients bounds the clients of a schedule, which needs at least two.
const MaxClients = 16

// MaxPlaces bounds the places of clients: see Program.Open. Places from MaxClients on are for clients that do something
// else than the others: see Program.SpecialPlaces.
const MaxPlaces = MaxClients + 3

// MaxExhaustive bounds the clients of a search that runs every schedule. With more, schedules are drawn at random.
const MaxExhaustive = 4

// MaxPerKind bounds the numbers that choices of one kind have: they go from 0 to MaxPerKind-1.
const MaxPerKind = 32

// MaxThreads bounds a client's threads in one schedule, including its first: see Choice.Thread.
const MaxThreads = 32

// Choice is what happens next in a schedule: a client takes its next step, or something goes wrong. The zero value is
// Run(0). Make choices with the functions and constants of this file.
//
// In JSON a choice is its String.
type Choice uint16

// Kind is what a choice does. A choice has a kind, a number below MaxPerKind and, if it applies to a client, one of the
// client's threads.
type Kind uint8

// Kinds, and what the number of a choice means.
const (
	Runs          Kind = iota // a client takes its next step; number: client, from 0
	Crashes                   // a client crashes before its next step; number: client
	LosesAnswers              // a command is executed and its answer lost; number: client
	LosesCommands             // a command is lost; number: client
	Delays                    // a client gives up a command, which is executed later; number: client
	Slows                     // time passes inside a script or transaction; number: client
	Passes                    // time passes; number: instant, the nearest first
	Arrives                   // a command that was given up is executed; number: command
	PassesFine                // time passes to an instant that Pass does not go to: see PassFine; number: instant
	World                     // something else: StopReplication and the constants after it
)

// Choices of kind World. The Budget bounds all except Probe.
const (
	StopReplication Choice = Choice(World)*perKind + iota // the replica to be promoted no longer follows its primary
	Promote                                               // that replica becomes the primary
	FlushScripts                                          // SCRIPT FLUSH
	Probe                                                 // the harness looks at the store after the last step
)

// Run is the next step of client i, from 0.
func Run(i int) Choice { return choice(Runs, i) }

// Crash crashes client i, from 0, before its next step. The client takes no further step.
func Crash(i int) Choice { return choice(Crashes, i) }

// LoseAnswer executes the next command of client i, from 0, and loses its answer. The client goes on with an error.
func LoseAnswer(i int) Choice { return choice(LosesAnswers, i) }

// LoseCommand loses the next command of client i, from 0, so that it is never executed. The client sees the same as
// after LoseAnswer.
func LoseCommand(i int) Choice { return choice(LosesCommands, i) }

// Delay makes the next command of client i, from 0, late. The client goes on with an error, and a later Arrive executes
// the command.
func Delay(i int) Choice { return choice(Delays, i) }

// Slow lets a millisecond pass inside the next command of client i, from 0: a script, or the EXEC of a transaction.
func Slow(i int) Choice { return choice(Slows, i) }

// Arrive executes late command n of the schedule, counted from 0.
func Arrive(n int) Choice { return choice(Arrives, n) }

// Pass lets time pass to instant n, counted from 0, of those that can be reached. Each is the last millisecond of a
// lease, or the first millisecond after it.
func Pass(n int) Choice { return choice(Passes, n) }

// PassFine lets time pass to fine instant n, counted from 0. Fine instants are those that Pass does not go to, since
// they make a difference only to a client that reads a clock or a TTL.
func PassFine(n int) Choice { return choice(PassesFine, n) }

// perKind is the number of choices of one kind, for all numbers and threads.
const perKind = MaxPerKind * MaxThreads

func choice(k Kind, number int) Choice { return Choice(k)*perKind + Choice(number) }

// Of returns the same choice for a given thread of its client. Threads count from 0. Use it for Run, LoseAnswer,
// LoseCommand, Delay and Slow: a crash ends all threads of a client.
func (c Choice) Of(thread int) Choice {
	return choice(c.Kind(), c.Number()) + Choice(thread)*MaxPerKind
}

// Kind returns the kind of the choice.
func (c Choice) Kind() Kind { return Kind(c / perKind) }

// Thread returns the client's thread that the choice applies to. The client's first thread is 0; later ones count in
// the order in which they started. For a choice without a client the result is 0.
func (c Choice) Thread() int { return int(c%perKind) / MaxPerKind }

// Number returns what the constructor of the choice was given: the number of the client, the instant or the late
// command.
func (c Choice) Number() int { return int(c % MaxPerKind) } // MaxPerKind divides perKind

// Client returns the client that the choice applies to, from 0. ok is false if there is none.
func (c Choice) Client() (i int, ok bool) {
	if c.Kind() >= Passes {
		return 0, false
	}
	return c.Number(), true
}

// IsCrash reports whether a client crashes.
func (c Choice) IsCrash() bool { return c.Kind() == Crashes }

// IsTime reports whether time passes.
func (c Choice) IsTime() bool { return c.Kind() == Passes || c.Kind() == PassesFine }

// Unanswered reports whether a client sends a command in this choice and gets no answer.
func (c Choice) Unanswered() bool {
	return c.Kind() == LosesAnswers || c.Kind() == LosesCommands || c.Kind() == Delays
}

// worldNames names the choices of kind World.
var worldNames = map[Choice]string{
	StopReplication: "hold replication", Promote: "promote the replica", FlushScripts: "script flush", Probe: "probe",
}

// numbered names the kinds that have numbers. In words, numbers count from 1.
var numbered = []struct {
	kind   Kind
	prefix string
	most   int // how many numbers there are

	threads bool // may apply to a thread other than the first
}{
	{Runs, "client ", MaxClients, true},
	{Crashes, "crash of client ", MaxClients, false},
	{LosesAnswers, "lost answer to client ", MaxClients, true},
	{LosesCommands, "lost command of client ", MaxClients, true},
	{Delays, "late command of client ", MaxClients, true},
	{Slows, "slow script of client ", MaxClients, true},
	{Passes, "time ", MaxPerKind, false},
	{Arrives, "arrival ", MaxPerKind, false},
	{PassesFine, "fine time ", MaxPerKind, false},
}

// String describes the choice, counting from 1: "client 1", "client 1, thread 2", "crash of client 1", "late command of
// client 2", "arrival 1", "time 2". It is empty for an unknown choice.
func (c Choice) String() string {
	for _, k := range numbered {
		if c.Kind() == k.kind {
			words := k.prefix + strconv.Itoa(c.Number()+1)
			if c.Thread() > 0 {
				words += ofThread + strconv.Itoa(c.Thread()+1)
			}
			return words
		}
	}
	return worldNames[c]
}

// ofThread precedes the number of a thread.
const ofThread = ", thread "

// MarshalText writes the choice as String does.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote. For any other text it returns an error and does not change c.
func (c *Choice) UnmarshalText(text []byte) error {
	for world, name := range worldNames {
		if name == string(text) {
			*c = world
			return nil
		}
	}
	for _, k := range numbered {
		digits, ok := strings.CutPrefix(string(text), k.prefix)
		if !ok {
			continue
		}
		digits, thread, threaded := strings.Cut(digits, ofThread)
		n, known := countOf(digits, k.most)
		t, knownThread := 1, !threaded
		if threaded && k.threads {
			t, knownThread = countOf(thread, MaxThreads)
			knownThread = knownThread && t > 1
		}
		if known && knownThread {
			*c = choice(k.kind, n-1).Of(t - 1)
			return nil
		}
	}
	return fmt.Errorf("unknown choice %q, perhaps of an older program: explore again", text)
}

// countOf reads a number from 1 to a given limit, written as strconv.Itoa writes it.
func countOf(digits string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 1 && n <= most && digits == strconv.Itoa(n)
}
