package workloads

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Adapter describes an adapter: a program in any language that runs an algorithm. The harness tells the program what to
// do in lines of JSON: see adapters/README.md. AdapterVariant makes a variant of an Adapter.
type Adapter struct {
	// As is Lock, Dedup or Sequence. By default it is derived from what the program can do.
	As      Family   `json:"as,omitempty" yaml:"as,omitempty"`
	Command []string `json:"command,omitempty" yaml:"command,omitempty"` // the program and its arguments
	// Connect replaces Command. It is the address at which a program listens: "unix:" and a path.
	Connect string `json:"connect,omitempty" yaml:"connect,omitempty"`
	// Name follows "client/" in the variant's id. By default it is derived from Command.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`

	// Announces says that the program drives itself, and announces its operations by ECHO.
	Announces bool `json:"announces,omitempty" yaml:"announces,omitempty"`
	// Processes is how many processes share the clients of each client group under load; default 1.
	Processes int `json:"processes,omitempty" yaml:"processes,omitempty"`
	// RealCrash says that a crash in a search kills the process. Otherwise a crash only cuts the connection to Redis.
	RealCrash bool `json:"realCrash,omitempty" yaml:"realCrash,omitempty"`

	// Can lists the operations that the program can do, by their names in the protocol. The program's answer to init
	// overwrites Can, Symmetric, Masters and Clock; until then Can is empty. A program that Announces gets no init: its
	// user sets Clock.
	Can       []string `json:"can,omitempty" yaml:"can,omitempty"`
	Symmetric bool     `json:"symmetric,omitempty" yaml:"symmetric,omitempty"` // compares tokens for equality only
	// Masters is the least number of independent masters that a lock needs; 0: the lock uses one Redis.
	Masters int          `json:"masters,omitempty" yaml:"masters,omitempty"`
	Clock   AdapterClock `json:"clock,omitempty" yaml:"clock,omitempty"` // the clock that the program reads in a search
}

// AdapterClock says which clock an adapter reads in a search, by its name in the protocol. The zero value is
// AskedClock. Under load every adapter may read the machine's clock.
type AdapterClock string

// The clocks of adapters.
const (
	AskedClock AdapterClock = "asked" // the adapter asks the harness for the time and for sleep, or needs neither
	// PreloadedClock is the clock of the C library, by which the adapter also sleeps. A preloaded library replaces the C
	// library's functions for both.
	PreloadedClock AdapterClock = "preloaded"
	RealClock      AdapterClock = "real" // the machine's clock: a search can say nothing about the passing of time
)

// IsKnown reports whether c is one of the clocks, or the zero value.
func (c AdapterClock) IsKnown() bool {
	return c == "" || c == AskedClock || c == PreloadedClock || c == RealClock
}

// AdapterRunner runs an Adapter. Package harness/adapter has one.
type AdapterRunner interface {
	// SearchClient returns the operations of one client for one schedule of a search. address is where the client's
	// process finds Redis. If the process breaks down later, its operations call harness.Abandon.
	SearchClient(address string) (Operations, error)
	// LoadClient returns the operations of one more client of a load, given a Redis client for each master. If
	// the first of them is nil, the result only shows which operations exist.
	LoadClient(masters ...redis.UniversalClient) Operations
	// Observer returns the operations by which the harness itself looks at Redis at the end of a schedule. Calls with the
	// same r return the operations of the same client.
	Observer(r redis.UniversalClient) Operations
	// Kill ends the process of the search client whose Redis is at address. In the next schedule the client has a new
	// process.
	Kill(address string)
	// StartAnnouncing starts, for one schedule, the process of the search client whose Redis is at address. The process
	// announces its operations.
	StartAnnouncing(address string, environment ...string) (AnnouncingProcess, error)
	// OnAnnounced takes an announcement from the process of the search client whose Redis is at address. It returns when
	// the process may go on.
	OnAnnounced(address, text string)
	// LogTo writes the standard error of processes that start from now on to files in the folder dir.
	LogTo(dir string)
	// ConnectDirectly lets processes of a load connect to nodes themselves. The given function gets the Redis client of
	// a client group and returns the node's address. It returns "" if the group still has to connect through this
	// process.
	ConnectDirectly(address func(redis.UniversalClient) string)
	// Close ends all processes. It may be called twice.
	Close()
}

// Operations are everything that an adapter may be asked for. Adapter.Can says what it can do.
type Operations interface {
	Extender
	Deduper // First marks the message for a window, or claims it for a lease if Confirm is to follow
	Sequencer
	// Confirm marks the message id as delivered. The caller has claimed the message before: see Confirmer.
	Confirm(ctx context.Context, id string, window time.Duration) (bool, error)
}

// ErrNoEffect is wrapped by the errors of operations that certainly changed nothing.
var ErrNoEffect = errors.New("certainly nothing was done")

// requiredOperations lists the operations that a program of each family has to offer. The first in each list shows
// which family the program belongs to.
var requiredOperations = map[Family][]string{Lock: {DoAcquire, DoRelease}, Dedup: {DoClaim}, Sequence: {DoNext}}

// WithDescription returns the adapter completed by what its program says about itself. The error says why the program
// cannot be tested as it describes itself.
func (c Adapter) WithDescription(can []string, symmetric bool, clock AdapterClock, masters int) (Adapter, error) {
	if c.As == "" {
		for _, f := range []Family{Lock, Dedup, Sequence} {
			if slices.Contains(can, requiredOperations[f][0]) {
				c.As = f
				break
			}
		}
	}
	for _, want := range requiredOperations[c.As] {
		if !slices.Contains(can, want) {
			return c, fmt.Errorf("it says that it can do %q: a %s has to say %q", can, c.As,
				requiredOperations[c.As])
		}
	}
	if c.As == "" {
		return c, fmt.Errorf("it says that it can do %q, which is neither a lock (acquire, release), a dedup (claim) "+
			"nor a sequence (next)", can)
	}
	switch {
	case masters != 0 && c.As != Lock:
		return c, fmt.Errorf("it says that it asks %d masters, which is for locks: a %s leaves masters out", masters,
			c.As)
	case masters < 0 || masters == 1 || masters > mostMasters:
		return c, fmt.Errorf("it says that it asks %d masters: say 2 to %d, or leave masters out where it uses one "+
			"Redis", masters, mostMasters)
	}
	c.Can, c.Symmetric, c.Clock, c.Masters = can, symmetric, clock, masters
	return c, nil
}

// FamilyUnknown reports whether c is an adapter whose family is not known yet: its user has not named the family, and
// the program was not asked. For nil it returns false.
func (c *Adapter) FamilyUnknown() bool { return c != nil && c.As == "" && len(c.Can) == 0 }

// mostMasters is the largest number of masters that a topology has.
const mostMasters = 9

// AdapterVariant makes a variant of an adapter. The runner runs the adapter. An error says what to change in the
// adapter's settings.
func AdapterVariant(c Adapter, runner AdapterRunner) (Variant, error) {
	if err := c.check(); err != nil {
		return Variant{}, err
	}
	v, err := c.variant(runner)
	v.habits = true
	if c.Announces {
		v.program = func(o Options) interleave.Program { return c.announcedProgram(o, runner) }
	}
	return v, err
}

// variant makes the variant of an adapter whose settings were checked.
func (c Adapter) variant(run AdapterRunner) (Variant, error) {
	if c.As != "" && requiredOperations[c.As] == nil {
		return Variant{}, fmt.Errorf("adapter %s: %q is not a family: choose %s, %s or %s", c.name(), c.As,
			Lock, Dedup, Sequence)
	}
	v := Variant{
		Doc: "your adapter " + c.String(), Source: "your adapter", Claim: OneNode, ComparesNames: !c.Symmetric,
		runner: run,
	}
	id := c.ID()
	switch c.As {
	case Dedup:
		v.Flaws = []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}}
		v.program = func(o Options) interleave.Program {
			p := DedupProgram(o, func(r redis.UniversalClient) Deduper { return c.deduper(run.Observer(r)) })
			return c.adapterProgram(p, run, func(i int, ops Operations) harness.Client {
				return exploredDedupClient(c.deduper(ops), Options{TTL: p.Lease}, i)
			})
		}
		return dedupVariant(id, func(r redis.UniversalClient) Deduper { return c.deduper(run.LoadClient(r)) }, v), nil
	case Sequence:
		v.Flaws = []Flaw{{harness.DuplicateNumber, Failover}, {harness.Regression, Failover}}
		v.program = func(o Options) interleave.Program {
			return c.adapterProgram(SequenceProgram(o, nil), run, func(i int, ops Operations) harness.Client {
				return exploredSequenceClient(ops, o, i)
			})
		}
		return sequenceVariant(id, func(r redis.UniversalClient) Sequencer { return run.LoadClient(r) }, v), nil
	default: // until the program was asked, its family may be open
		if c.Masters > 0 {
			return c.onMasters(id, run, v), nil
		}
		v.Flaws = []Flaw{{harness.DoubleGrant, Failover}}
		v.program = func(o Options) interleave.Program {
			p := LockProgram(o, func(r redis.UniversalClient) Locker { return c.locker(run.Observer(r)) })
			return c.adapterProgram(p, run, func(i int, ops Operations) harness.Client {
				return exploredLockClient(c.locker(ops), Options{TTL: p.Lease}, i)
			})
		}
		return lockVariant(id, func(r redis.UniversalClient) Locker { return c.locker(run.LoadClient(r)) }, v), nil
	}
}

// onMasters makes the variant of a lock on several masters. The variant cannot be explored, since a search has one
// Redis.
func (c Adapter) onMasters(id string, runner AdapterRunner, v Variant) Variant {
	v.Flaws = forgottenByAMaster()
	v = quorumVariant(id, func(masters []redis.UniversalClient) Locker { return c.locker(runner.LoadClient(masters...)) },
		v)
	v.Masters = c.Masters
	return v
}

// adapterProgram returns p with clients whose operations are done by processes, one for each client. The given function
// makes client i, counted from 0, from the operations of its process.
func (c Adapter) adapterProgram(
	p interleave.Program, runner AdapterRunner, client func(i int, ops Operations) harness.Client,
) interleave.Program {
	var kill func(address string) // what a crash in a search does to a process; nil: nothing
	if c.RealCrash {
		kill = runner.Kill
	}
	return c.gatedProgram(p, func(i int, address string) (harness.Client, error) {
		ops, err := runner.SearchClient(address)
		if err != nil {
			return nil, err
		}
		return client(i, ops), nil
	}, kill)
}

// gatedProgram returns p with clients that each get an address and connect to it as if it were Redis. At this address
// the search holds back each command until the schedule lets it pass. The function openAt makes client i, counted from
// 0, which connects to the given address. The function kill kills the client's process.
func (c Adapter) gatedProgram(
	p interleave.Program, openAt func(i int, address string) (harness.Client, error), kill func(address string),
) interleave.Program {
	p.Gate, p.Open, p.OpenAt, p.Kill = interleave.TCP, nil, openAt, kill
	if c.Clock == RealClock {
		p.RealClock, p.Finally = true, nil // Finally would let time pass
	}
	return p
}

// SocketPrefix is the start of the address of a program that listens on a Unix socket.
const SocketPrefix = "unix:"

// check returns an error that says what to change in the adapter's settings, or nil.
func (c Adapter) check() error {
	switch path, isSocket := strings.CutPrefix(c.Connect, SocketPrefix); {
	case c.Connect == "" && (len(c.Command) == 0 || c.Command[0] == ""):
		return errors.New("adapter: no command: give the program and its arguments, such as python3 mylock.py")
	case c.Connect == "":
	case len(c.Command) > 0:
		return fmt.Errorf("adapter: both a command (%s) and where to connect (%s): leave one of them out", c.Command[0],
			c.Connect)
	case !isSocket || path == "":
		return fmt.Errorf("adapter: connect %q: give %s and the path of the socket on which it listens",
			c.Connect, SocketPrefix)
	case c.RealCrash:
		return fmt.Errorf("adapter: a real crash kills the process, and %s was not started here: leave one of them out",
			c.Connect)
	}
	if c.Announces {
		switch {
		case c.As == "":
			return fmt.Errorf("adapter %s: it drives itself, so say what it is: as %s, %s or %s", c.name(), Lock, Dedup,
				Sequence)
		case c.Connect != "" || c.Processes != 0:
			return fmt.Errorf("adapter %s: it drives itself, a process for each client: leave connect and processes out",
				c.name())
		}
	}
	if !c.Clock.IsKnown() {
		return fmt.Errorf("adapter %s: clock %q: choose one of %s, %s and %s, or leave it out and let the adapter say",
			c.name(), c.Clock, AskedClock, PreloadedClock, RealClock)
	}
	if c.Processes < 0 {
		return fmt.Errorf("adapter: %d processes: ask for 1 or more", c.Processes)
	}
	return nil
}

// String returns the command line, or the address at which the program listens.
func (c Adapter) String() string {
	if c.Connect != "" {
		return c.Connect
	}
	return strings.Join(c.Command, " ")
}

// ID returns the id of the adapter's variant.
func (c Adapter) ID() string { return AdapterPrefix + c.name() }

// AdapterPrefix is the start of the ids of variants that are adapters.
const AdapterPrefix = "client/"

// name returns the adapter's name. By default it is the last file name in the command, or the name of the socket,
// without the extension.
func (c Adapter) name() string {
	if c.Name != "" {
		return c.Name
	}
	words := c.Command
	if c.Connect != "" {
		words = []string{strings.TrimPrefix(c.Connect, SocketPrefix)}
	}
	name := words[0]
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && filepath.Ext(word) != "" {
			name = word
		}
	}
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// locker returns a lock that runs the operations o. The lock has the method Extend only if the program can extend.
func (c Adapter) locker(o Operations) Locker {
	if slices.Contains(c.Can, DoExtend) {
		return struct{ Extender }{o}
	}
	return struct{ Locker }{o}
}

// deduper returns a filter that runs the operations o. The filter has the method Confirm only if the program can
// confirm.
func (c Adapter) deduper(o Operations) Deduper {
	if slices.Contains(c.Can, DoConfirm) {
		return adapterClaims{o}
	}
	return struct{ Deduper }{o}
}

// adapterClaims is a filter that marks in two steps. A claim lasts for a quarter of the window.
type adapterClaims struct{ Operations }

var _ Confirmer = adapterClaims{}

func (adapterClaims) Lease(window time.Duration) time.Duration { return dedupLease(window) }

// First claims the message for a quarter of the window.
func (f adapterClaims) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return f.Operations.First(ctx, id, f.Lease(window))
}
