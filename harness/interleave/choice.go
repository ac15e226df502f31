package interleave

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxClients bounds the clients of a schedule. A schedule needs two at least.
const MaxClients = 16

// MaxPlaces bounds the places of clients. Those from MaxClients on are of clients that do something else: see
// Program.Apart.
const MaxPlaces = MaxClients + 3

// MaxExhaustive bounds the clients of a search that runs every schedule. With more, schedules are drawn at random.
const MaxExhaustive = 4

// MaxPerKind bounds the number of a choice, which tells it apart from others of its kind: 0 to MaxPerKind-1.
const MaxPerKind = 32

// MaxThreads bounds the threads of a client in one schedule, its first included: see Choice.Thread.
const MaxThreads = 32

// Choice says what happens next in a schedule: a client takes its next step, or something happens to the client, to its
// command or to the world. The zero value is Run(0). Make others with the functions and constants of this file.
//
// In JSON a choice is its String.
type Choice uint16

// Kind groups choices by what happens. A choice is a kind, a number below MaxPerKind and, where it happens to a client,
// one of the client's threads.
type Kind uint8

// Kinds, and what the number of a choice counts.
const (
	Runs          Kind = iota // a client takes its next step; the number is the client, from 0
	Crashes                   // a client crashes before its next step; the number is the client
	LosesAnswers              // a client's command is executed, and its answer is lost; the number is the client
	LosesCommands             // a client's command is lost; the number is the client
	Delays                    // a client gives up waiting for its command, which is executed later; the number is the client
	Slows                     // time passes while a client's script or transaction is executed; the number is the client
	Passes                    // time passes; the number is the instant, from the nearest on
	Arrives                   // a command that its client has given up is executed; the number is the command
	PassesFine                // time passes to an instant that only a look at a clock or a TTL tells apart; the number is the instant
	World                     // something else happens to the world: StopReplication and the constants after it
)

// Choices of kind World. All but Probe are bounded by the Budget.
const (
	StopReplication Choice = Choice(World)*perKind + iota // the replica that will be promoted hears nothing any more
	Promote                                               // that replica becomes the primary; what it did not hear is lost
	FlushScripts                                          // SCRIPT FLUSH
	Probe                                                 // the harness asks, after the last step; no part of a schedule
)

// Run lets client i, counted from 0, take its next step.
func Run(i int) Choice { return choice(Runs, i) }

// Crash lets client i, counted from 0, crash before its next step. It is never heard of again.
func Crash(i int) Choice { return choice(Crashes, i) }

// LoseAnswer executes the next command of client i, counted from 0, and loses the answer. The client waits in vain and
// goes on with an error.
func LoseAnswer(i int) Choice { return choice(LosesAnswers, i) }

// LoseCommand loses the next command of client i, counted from 0: it is never executed. The client sees the same as
// after LoseAnswer.
func LoseCommand(i int) Choice { return choice(LosesCommands, i) }

// Delay makes the next command of client i, counted from 0, late. The client goes on with an error, and a later Arrive
// executes the command.
func Delay(i int) Choice { return choice(Delays, i) }

// Slow lets a millisecond pass while the next command of client i, counted from 0, is executed: a script, or the EXEC
// of a transaction.
func Slow(i int) Choice { return choice(Slows, i) }

// Arrive executes late command n of the schedule, counted from 0.
func Arrive(n int) Choice { return choice(Arrives, n) }

// Pass lets time pass to instant n, counted from 0, of the next instants that matter: the last millisecond of some
// lease, or the first after it.
func Pass(n int) Choice { return choice(Passes, n) }

// PassFine lets time pass to instant n, counted from 0, of those beside the instants of Pass that only a look at a
// clock or at what is left of a lease tells apart.
func PassFine(n int) Choice { return choice(PassesFine, n) }

// perKind is the number of choices of one kind: a number and a thread.
const perKind = MaxPerKind * MaxThreads

func choice(k Kind, number int) Choice { return Choice(k)*perKind + Choice(number) }

// Of returns the same choice for another thread of its client, counted from 0. It is for the choices of Run,
// LoseAnswer, LoseCommand, Delay and Slow: a crash ends all threads of its client.
func (c Choice) Of(thread int) Choice {
	return choice(c.Kind(), c.Number()) + Choice(thread)*MaxPerKind
}

// Kind returns the kind of the choice.
func (c Choice) Kind() Kind { return Kind(c / perKind) }

// Thread returns the thread of the client to which the choice happens: 0 is the one in which the client began, and the
// others count from 1 in the order in which it started them. For a choice that happens to no client it is 0.
func (c Choice) Thread() int { return int(c%perKind) / MaxPerKind }

// Number returns the number that tells the choice apart from others of its kind, counted from 0.
func (c Choice) Number() int { return int(c % MaxPerKind) } // MaxPerKind divides perKind

// Client returns the client to which the choice happens, counted from 0. ok is false if it happens to no client.
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

// Unanswered reports whether a client waits for an answer that it does not get.
func (c Choice) Unanswered() bool {
	return c.Kind() == LosesAnswers || c.Kind() == LosesCommands || c.Kind() == Delays
}

// worldNames names the choices of kind World.
var worldNames = map[Choice]string{
	StopReplication: "hold replication", Promote: "promote the replica", FlushScripts: "script flush", Probe: "probe",
}

// numbered names the kinds whose choices are told apart by a number. In words the number counts from 1.
var numbered = []struct {
	kind   Kind
	prefix string
	most   int // how many numbers of the kind there are

	threads bool // it may happen to a thread other than the first
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

// String says in words what happens: "client 1", "client 1, thread 2", "crash of client 1", "late command of client 2",
// "arrival 1", "time 2". It counts from 1. It is empty for a kind or a choice of kind World that does not exist.
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

// ofThread stands before the number of a thread in words.
const ofThread = ", thread "

// MarshalText writes the choice as String does.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote. For any other text it returns an error and leaves c as it is.
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
	return fmt.Errorf("unknown choice %q: an older program wrote it, so explore again", text)
}

// countOf reads a number from 1 to most, written as strconv.Itoa does.
func countOf(digits string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 1 && n <= most && digits == strconv.Itoa(n)
}
