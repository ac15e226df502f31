package explore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// This file searches random programs in two ways and compares the results.

// comparison is a pair of ways to search that have to give the same result.
type comparison struct {
	name    string
	prepare func(*trial) // prepares each program; nil: nothing to do
	want    func(*trial) came
	got     func(*trial) came
	equal   func(x *trial, want, got came)
	worth   func(t *testing.T, n effort) // fails if the comparison has shown nothing; nil: it always has
	stream  uint64                       // of random numbers
	briefly int                          // number of kinds of programs that make test tries
	kinds   []kind
}

var (
	naps   = with(clocks, "NAP", "NAP")
	ends   = with(plain, "SET $k $v PX 1000", "SET $k $v EX 10", "SET $k $v EX 10", "PTTL $k")
	simple = []string{"GET $k", "SET $k $v", "INCR $k"}
)

var comparisons = []comparison{
	{
		name: "pruned, and every schedule", want: searchBy(func(s *Spec) { s.WithoutReduction = true }),
		got:   searchBy(),
		equal: equalShown, worth: fewer,
		stream: 7, briefly: 20,
		kinds: []kind{
			{"commands", plain, 0, 30, 2, 3, nil},
			{"several keys and transactions", with(several, "TX SET $k $v / GET b", "EXISTS a b"), 0, 10, 2, 3, nil},
			{"crashes", plain, 0, 5, 2, 3, func(s *Spec) { s.Crashes = 2 }},
			{"expiries", leases, 0, 4, 2, 3, mayExpire},
			{"naps", []string{"GET $k", "SET $k $v EX 10", "SET $k $v EX 10", "SETNX $k $v", "NAP"}, 0, 15, 2, 3, nil},
			{"clocks", clocks, 0, 20, 2, 3, nil},
			{"clocks, crash and expiry", clocks, 0, 1, 2, 3, mayCrashOrExpire},
			{"work", with(plain, work, work), 0, 10, 2, 3, mayCrash},
			{"observed", plain, 0, 10, 2, 3, observed},
			{"lost answers and commands", plain, 0, 5, 2, 2, func(s *Spec) { s.LostAnswers, s.LostCommands = 1, 1 }},
			{"late commands and leases", ends, 0, 3, 2, 2, func(s *Spec) { s.Late, s.Expiries = 1, 1 }},
			{"leases of two lengths", ends, 26, 4, 2, 3, mayExpire},
			{"waits and crashes", []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP a b 0", "BRPOP $k 0",
				"BLMOVE a b LEFT LEFT 0", "LLEN $k"}, 0, 12, 2, 3, mayCrash},
			{"waits with time-outs", []string{"LPUSH $k $v", "BLPOP $k 5", "BLPOP $k 7", "LLEN $k"}, 0, 8, 2, 3, nil},
			{"watched keys", []string{"CAS $k $v", "CAS $k $v", "SET $k $v", "GET $k"}, 0, 6, 2, 2, nil},
			{"three clients and two keys", []string{"SET $k $v", "GET $k", "INCR $k", "MGET a b"}, 40, 6, 3, 2, nil},
			{"late pairs", []string{"SET $k $v", "GET $k", "INCR $k", "DEL $k"}, 50, 10, 2, 3, func(s *Spec) {
				s.Late = 2
			}},
			{"failover", plain, 2, 1, 2, 2, mayFailOver},
			{"threads", threads, 0, 8, 2, 2, nil},
			{"threads, crashes and expiries", threads, 0, 6, 2, 1, mayCrashOrExpire},
		},
	},
	{
		name: "from memory, and really run", prepare: lookTwice,
		want: searchBy(func(s *Spec) { s.WithoutMemory = true }), got: searchBy(), equal: equalHistories,
		stream: 11, briefly: 15,
		kinds: []kind{
			{"commands", several, 0, 10, 2, 3, nil},
			{"three clients", plain, 0, 2, 3, 2, nil},
			{"crashes and expiries", leases, 0, 6, 2, 2, mayCrashOrExpire},
			{"clocks, skew and naps", naps, 0, 12, 2, 2, func(s *Spec) { s.Skew, s.Expiries = lease, 1 }},
			{"scripts and flushes", scripts, 0, 8, 2, 2, func(s *Spec) { s.Flushes, s.Expiries = 1, 1 }},
			{"scripts, clocks and time", with(scripts, "CLOCK", "TIME"), 0, 4, 2, 2, mayExpire},
			{"watched keys", with(watches, "SET $k $v EX 10"), 0, 8, 2, 2, mayExpire},
			{"watched keys, late and lost", watches, 0, 4, 2, 1, func(s *Spec) {
				s.Late, s.LostAnswers, s.LostCommands, s.Expiries = 1, 1, 1, 1
			}},
			{"late and lost", leases, 0, 5, 2, 2, func(s *Spec) { s.Late, s.LostAnswers, s.LostCommands = 1, 1, 1 }},
			{"observed", leases, 0, 5, 2, 2, func(s *Spec) { mayExpire(s); observed(s) }},
			{"threads", threads, 0, 8, 2, 2, nil},
			{"threads, crashes and expiries", threads, 0, 6, 2, 1, mayCrashOrExpire},
			{"threads, clocks and lost answers", with(threads, "CLOCK", "THREAD NAP"), 0, 4, 2, 1, func(s *Spec) {
				s.LostAnswers, s.Expiries = 1, 1
			}},
			{"failover and watched keys", watches, 0, 1, 2, 1, func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
			{"failover and scripts", with(scripts, "WAIT 2 1000"), 0, 1, 2, 2, mayFailOverAndWait},
		},
	},
	{
		name: "stopped at known states, and to the end", prepare: findRarest,
		want: searchBy(func(s *Spec) { s.WithoutMemory = true }), got: searchBy(func(s *Spec) { s.forgetful = true }),
		equal: func(x *trial, want, got came) {
			equalShown(x, want, got)
			x.n.found += len(want.lengths)
			require.Equal(x.t, want.lengths, got.lengths, x.what)
		},
		worth: func(t *testing.T, n effort) {
			fewer(t, n)
			require.NotZero(t, n.found, "or no length was compared")
		},
		stream: 23, briefly: 15, // the last takes seconds
		kinds: []kind{
			{"commands", several, 0, 6, 2, 3, nil},
			{"three clients", plain, 0, 2, 3, 2, nil},
			{"waits", waits, 0, 8, 2, 3, nil},
			{"waits of three clients", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP a b 5"}, 0, 4, 3, 1, nil},
			{"waits and crashes", waits, 0, 5, 2, 2, mayCrash},
			{"waits, late and lost", waits, 0, 3, 2, 2, func(s *Spec) { s.Late, s.LostAnswers = 1, 1 }},
			{"threads", threads, 0, 8, 2, 2, nil},
			{"threads and crashes", threads, 0, 3, 2, 2, mayCrash},
			{"messages", messages, 0, 8, 2, 2, nil},
			{"messages and crashes", messages, 0, 4, 2, 2, mayCrash},
			{"messages and lost answers", messages, 0, 4, 2, 3, func(s *Spec) { s.LostAnswers = 1 }},
			{"threads, messages and waits", slices.Concat(threads, messages, waits), 0, 8, 2, 2, nil},
			{"clocks and leases", with(threads, "CLOCK", "PTTL $k"), 0, 3, 2, 2, mayExpire},
			{"flushes", with(plain, "RUN bump $k", "RUN lease $k"), 0, 3, 2, 2, mayFlush},
			{"failover", []string{"SET $k $v", "GET $k", "BLPOP c 5"}, 0, 2, 2, 1, mayFailOver},
			{"failover and leases", []string{"SET $k $v EX 10", "GET $k", "INCR $k", "BLPOP c 5"}, 0, 1, 2, 1,
				func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
		},
	},
	{
		name: "from checkpoints, and without a stop", prepare: findTwoClasses, want: searchBy(),
		got: fromCheckpoints, equal: equalTallies,
		worth:  func(t *testing.T, n effort) { require.Greater(t, n.stops, 2*n.programs) },
		stream: 11, kinds: cutKinds, briefly: 8,
	},
	{
		name: "in pieces, and whole", prepare: findTwoClasses, want: searchBy(), got: inPieces, equal: equalButPruning,
		worth: func(t *testing.T, n effort) {
			require.Greater(t, n.pieces, int64(10*n.programs))
			require.Greater(t, n.died, int64(2*n.programs))
		},
		stream: 11, kinds: cutKinds, briefly: 4,
	},
	{
		name: "in pieces from checkpoints, and without a stop", prepare: findTwoClasses, equal: equalTallies,
		want:   fromEachCheckpoint,
		got:    inPiecesFromCheckpoints,
		stream: 11, kinds: cutKinds, briefly: 2,
	},
}

// cutKinds lists the kinds of random programs whose searches are done in pieces, or stopped and resumed.
var cutKinds = []kind{
	{"three clients", simple, 0, 3, 3, 2, nil},
	{"at random", simple, 0, 3, 4, 3, func(s *Spec) { s.Random, s.Crashes = &Random{Schedules: 150, Seed: 5}, 1 }},
	{"every part", []string{"GET $k", "SET $k $v EX 10", "INCR $k"}, 0, 3, 2, 2, func(s *Spec) {
		s.Crashes, s.Expiries, s.LostAnswers = 1, 1, 0
	}},
	{"really run", simple, 0, 3, 2, 3, func(s *Spec) { s.WithoutMemory, s.Crashes = true, 1 }},
	{"commands", with(plain, "INCR $k"), 0, 6, 2, 4, nil},
	{"crash and expiry", []string{"GET $k", "INCR $k", "SET $k $v EX 10", "SET $k $v PX 1000", "PTTL $k"}, 0, 3,
		2, 3, mayCrashOrExpire},
	{"waits", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP $k 5", "LLEN $k"}, 0, 3, 2, 3, nil},
	{"failover", []string{"GET $k", "SET $k $v"}, 0, 1, 2, 2, mayFailOver},
	{"transactions and watched keys",
		[]string{"CAS $k $v", "TX GET $k / INCR $k", "SET $k $v", "MGET a b"}, 0, 3, 2, 2, nil},
	{"late commands", simple, 0, 3, 2, 3, mayBeLate},
	{"observed", simple, 0, 2, 2, 2, observed},
}

// All ways to search a program give the same result.
func TestEachWayOfASearchComesToTheSame(t *testing.T) { compareAll(t, comparisons[:5]) }

// The comparisons that use workers, pieces and checkpoints run with the race detector.
func TestRacedEachWayOfASearchComesToTheSame(t *testing.T) { compareAll(t, comparisons[5:]) }

func compareAll(t *testing.T, some []comparison) {
	for _, c := range some {
		t.Run(c.name, func(t *testing.T) { c.compare(t, false) })
	}
}

// One run makes two of the comparisons, with all random programs. make test tries one program of each kind.
func TestLongRandomPrograms(t *testing.T) {
	testenv.NeedLong(t)
	for i, c := range comparisons {
		if !testenv.Sampled(i, 3) { // all of them take more than half an hour
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.compare(t, true)
		})
	}
}

// compare searches random programs in both ways: all programs if long is true, otherwise the first of some kinds.
func (c comparison) compare(t *testing.T, long bool) {
	var n effort
	pools := map[int]*pool{} // by failovers
	some := c.kinds
	if !long {
		some = some[:c.briefly]
	}
	tryRandom(t, some, c.stream, long, func(s *scheduler, spec Spec, what string) {
		x := &trial{scheduler: s, all: t, spec: spec, what: what, pools: pools, most: 2, n: &n}
		if long {
			x.most = 4
		}
		if c.prepare != nil {
			c.prepare(x)
		}
		want, got := c.want(x), c.got(x)
		c.equal(x, want, got)
		n.programs, n.all, n.some = n.programs+1, n.all+want.schedules, n.some+got.schedules
	})
	t.Logf("%+v", n)
	if c.worth != nil {
		c.worth(t, n)
	}
}

// effort counts the work of a comparison.
type effort struct {
	programs, all, some, stops, found int
	pieces, died                      int64
}

func fewer(t *testing.T, n effort) {
	require.Less(t, n.some, n.all*9/10, "or little was left out, and nothing shown")
}

// trial is a random program that is searched in several ways.
type trial struct {
	*scheduler
	all   *testing.T // of the whole comparison
	spec  Spec
	what  string
	pools map[int]*pool
	most  int // workers
	n     *effort
}

// came is the result of a search.
type came struct {
	histories [][]harness.Op
	schedules int
	lengths   map[harness.Class]int // of the smallest counterexamples
	tally     string                // as JSON
	parts     []interleave.Part
	stopped   string
	broken    string // why memory was no longer used
	left      *Checkpoint
	saved     []*Checkpoint // written on the way, and the last
}

// cameTo runs a search in the scheduler's world.
func (x *trial) cameTo(ctx context.Context, spec Spec) (out came) {
	x.t.Helper()
	c := &collector{}
	spec.Checkers = append([]harness.Checker{c}, spec.Checkers...)
	spec.OnCheckpoint = func(c *Checkpoint) error {
		out.left = throughJSON(x.t, c)
		out.saved = append(out.saved, out.left)
		return nil
	}
	se := x.until(ctx, spec)
	se.save([]*world{x.w})
	require.NoError(x.t, se.failure)
	text, err := json.Marshal(se.seen.Tally(0))
	require.NoError(x.t, err)
	out.histories, out.schedules, out.lengths = c.histories, se.seen.Schedules, map[harness.Class]int{}
	out.tally, out.parts, out.stopped = string(text), se.parts, se.stopped
	for class, found := range se.seen.Counterexamples {
		out.lengths[class] = found.Length
	}
	if se.memory != nil {
		out.broken = se.memory.Broken
	}
	return out
}

// findTwoClasses sets two checkers. One finds a long result of client 2. The other is earlySecond.
func findTwoClasses(x *trial) {
	x.spec.Checkers = []harness.Checker{finder(func(op harness.Op) bool {
		return op.Client == 2 && len(op.Result) > 3
	}), earlySecond{}}
}

// earlySecond finds an anomaly if client 2 ends an operation before client 1 begins one. It does not ask which of two
// concurrent operations ends first, since a search may try one order for both.
type earlySecond struct{}

func (earlySecond) Name() string { return "early second" }

func (earlySecond) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	j := harness.Judgement{NothingToJudge: true}
	var first [3]*harness.Op // of clients 1 and 2
	for op := range h.Ops {
		if len(j.Situations) == 0 {
			j.Situations = append(j.Situations,
				harness.Situation{Name: harness.DrawsAtOnce, Count: 1, Example: []harness.Op{op}})
		}
		if op.Client > 0 && op.Client < len(first) && first[op.Client] == nil {
			first[op.Client] = &op
		}
	}
	if one, two := first[1], first[2]; one != nil && two != nil && two.Return < one.Call {
		found(harness.Anomaly{Class: harness.Regression, Ops: []harness.Op{*two}, From: two.Call, To: two.Return})
	}
	return j
}

// findRarest sets a checker for the result that the fewest schedules show. At its end, the program dumps keys of any
// type.
func findRarest(x *trial) {
	x.spec.Program.Finally = inTheEnd(sends("DUMP a", "DUMP b"))
	count := map[string]int{}
	of := func(op harness.Op) string { return fmt.Sprint(op.Client, op.Key, op.Result) }
	for _, ops := range searchBy(func(s *Spec) { s.WithoutMemory = true })(x).histories {
		for _, op := range ops {
			count[of(op)]++
		}
	}
	var results []string
	for r := range count {
		results = append(results, r)
	}
	least := slices.MinFunc(results, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	})
	x.spec.Checkers = []harness.Checker{finder(func(op harness.Op) bool { return of(op) == least })}
}

// lookTwice makes a program read the store at the end of a schedule, and again after time has passed. Its search leaves
// out no order of commands.
func lookTwice(x *trial) {
	x.spec.WithoutReduction = true
	x.spec.Program.Finally = func(ctx context.Context, s *harness.Session, r redis.UniversalClient,
		after interleave.After) error {
		dump(ctx, s, r)
		if len(after.Ops())%2 == 0 {
			if err := after.Pass(lease / 2); err != nil {
				return err
			}
			dump(ctx, s, r)
		}
		left, err := after.PassAll(2 * lease)
		if err == nil && left > 0 {
			dump(ctx, s, r)
		}
		return err
	}
}

// If Program.Finally waits in Redis, schedules are not run from memory, since time passes.
func TestALookThatWaitsIsReallyRun(t *testing.T) {
	t.Parallel()
	spec := quiet(program(sends("SET a 1", "DEL a"), sends("GET a")))
	spec.Program.Finally = inTheEnd(does("q", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return "", r.BLPop(ctx, 5*time.Second, "q").Err()
	}))
	x := &trial{scheduler: newScheduler(t, spec), spec: spec}
	looked := searchBy()(x)
	require.Contains(t, looked.broken, "waits")
	require.Subset(t, searchBy(func(s *Spec) { s.WithoutMemory = true })(x).histories, looked.histories)
}
