package explore

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/explore/internal/trace"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/processes"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

const lease = 10 * time.Second

// TestMain raises parkWithin, so that only clients that never act take too long, however busy the machine is.
func TestMain(m *testing.M) {
	parkWithin *= 10
	os.Exit(m.Run())
}

// client does all the work of a client in a test.
type client func(ctx context.Context, s *harness.Session, r redis.UniversalClient)

// opened is a client with its connection.
type opened struct {
	does  client
	redis redis.UniversalClient
}

func (o opened) Step(ctx context.Context, s *harness.Session) { o.does(ctx, s, o.redis) }

// program returns a program in which client i is clients[i], or the last if there are fewer.
func program(clients ...client) interleave.Program {
	return interleave.Program{
		Name: "test", Kinds: []harness.Kind{harness.Next}, Lease: lease,
		Open: func(i int, r redis.UniversalClient) harness.Client {
			return opened{clients[min(i, len(clients)-1)], r}
		},
	}
}

// op runs one operation with the commands that do sends. do returns its result.
func op(s *harness.Session, key string, do func() (string, error)) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Next, Key: key}, func(op *harness.Op) {
		result, err := do()
		if op.Outcome = harness.OK; err != nil && err != redis.Nil {
			op.Outcome, op.Err = harness.Info, err.Error()
			return
		}
		op.Result = result
	})
}

// does returns a client with one operation.
func does(key string, do func(ctx context.Context, r redis.UniversalClient) (string, error)) client {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		op(s, key, func() (string, error) { return do(ctx, r) })
	}
}

// sends returns a client with one operation for each command.
func sends(commands ...string) client {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for _, c := range commands {
			op(s, c, func() (string, error) { return say(ctx, r, c) })
		}
	}
}

// inTurn returns a client that does what each of clients does.
func inTurn(clients ...client) client {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for _, c := range clients {
			c(ctx, s, r)
		}
	}
}

// say sends a command and returns its reply as text.
func say(ctx context.Context, r interface {
	Do(ctx context.Context, args ...any) *redis.Cmd
}, command string) (string, error) {
	var args []any
	for _, w := range strings.Fields(command) {
		args = append(args, w)
	}
	v, err := r.Do(ctx, args...).Result()
	if err == redis.Nil {
		return "(nil)", nil
	}
	return fmt.Sprint(v), err
}

// collector is a checker that keeps every history and finds nothing.
type collector struct {
	mu        sync.Mutex
	histories [][]harness.Op
}

func (*collector) Name() string { return "collector" }

func (c *collector) Check(_ context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	if h.End == nil { // a schedule under way
		return harness.Judgement{NothingToJudge: true}
	}
	var ops []harness.Op
	for op := range h.Ops {
		ops = append(ops, op)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.histories = append(c.histories, ops)
	return harness.Judgement{NothingToJudge: true}
}

// finds is a checker that gets the operations of a schedule and has no verdict of its own.
type finds func(ops []harness.Op, found func(harness.Anomaly))

func (finds) Name() string { return "finds" }

func (f finds) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	var ops []harness.Op
	for op := range h.Ops {
		ops = append(ops, op)
	}
	f(ops, found)
	return harness.Judgement{NothingToJudge: true}
}

// finder returns a checker that finds one anomaly, at the first operation for which is returns true.
func finder(is func(op harness.Op) bool) finds {
	return func(ops []harness.Op, found func(harness.Anomaly)) {
		if i := slices.IndexFunc(ops, is); i >= 0 {
			op := ops[i]
			found(harness.Anomaly{
				Class: harness.DoubleGrant, Key: op.Key, Ops: []harness.Op{op}, From: op.Call, To: op.Return,
				Note: fmt.Sprintf("client %d got %s", op.Client, op.Result),
			})
		}
	}
}

// quiet returns a Spec without crashes, expiries and losses. Its time only guards against hanging.
func quiet(p interleave.Program, c ...harness.Checker) Spec {
	if c == nil {
		c = []harness.Checker{&collector{}}
	}
	return Spec{Program: p, Checkers: c, Bounds: interleave.Bounds{Clients: 2, Crashes: -1, Expiries: -1,
		LostAnswers: -1}, For: 10 * time.Minute, Workers: 1}
}

// resultOf runs a search, however it ends.
func resultOf(t *testing.T, s Spec) interleave.Result {
	t.Helper()
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	return res
}

// searched runs a search that has to end by itself.
func searched(t *testing.T, s Spec) interleave.Result {
	t.Helper()
	res := resultOf(t, s)
	require.True(t, res.Exhausted, res.Stopped)
	return res
}

// scheduler runs chosen schedules in its own world.
type scheduler struct {
	t    *testing.T
	spec Spec
	w    *world
}

func newScheduler(t *testing.T, s Spec) *scheduler {
	t.Helper()
	s, err := s.withDefaults()
	require.NoError(t, err)
	w, err := newWorld(t.Context(), &s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.stop()) })
	if w.WhyNoClock != "" && os.Getenv("CC") != noCompiler {
		testenv.LeftOut(t, "much of the explorer", "install a C compiler")
	}
	return &scheduler{t: t, spec: s, w: w}
}

// ask sends a command to a node for the world itself and returns the reply as text.
func (s *scheduler) ask(node int, args ...string) string {
	s.t.Helper()
	reply, err := s.w.Ask(node, args...)
	require.NoError(s.t, err)
	return resp.ReplyText(reply)
}

// until runs a search in the scheduler's world until it or ctx ends.
func (s *scheduler) until(ctx context.Context, spec Spec) *search {
	s.t.Helper()
	spec, err := spec.withDefaults()
	require.NoError(s.t, err)
	se := newSearch(&spec)
	se.resume(spec.Resume)
	require.NoError(s.t, se.run(ctx, []*world{s.w}))
	return se
}

// begin starts a schedule with a trace.
func (s *scheduler) begin() *execution {
	s.t.Helper()
	ex, err := beginSchedule(s.t.Context(), &s.spec, s.spec.budgets()[0], s.w)
	require.NoError(s.t, err)
	ex.trace = trace.New(s.w.Scripts, false)
	return ex.execution
}

// follow takes choices, all of which have to be possible.
func (s *scheduler) follow(ex *execution, choices ...interleave.Choice) {
	s.t.Helper()
	for _, c := range choices {
		require.Contains(s.t, possible(ex), c, "after %v", ex.path)
		_, err := ex.step(s.t.Context(), c)
		require.NoError(s.t, err)
	}
}

// finish runs the rest of a schedule.
func (s *scheduler) finish(ex *execution) {
	s.t.Helper()
	_, err := ex.drive(s.t.Context(), &strategy.First{}, ex)
	require.NoError(s.t, err)
	require.NoError(s.t, ex.finish(s.t.Context()))
}

// run runs a schedule that begins with choices.
func (s *scheduler) run(choices ...interleave.Choice) *execution {
	s.t.Helper()
	ex := s.begin()
	s.follow(ex, choices...)
	s.finish(ex)
	return ex
}

func nextMoves(ex *execution) []schedule.Move {
	all, err := ex.Moves()
	if err != nil {
		panic(err)
	}
	return all
}

func possible(ex *execution) (out []interleave.Choice) {
	for _, m := range nextMoves(ex) {
		out = append(out, m.Choice)
	}
	return out
}

// commands returns the traced lines of a schedule: client, command and reply.
func commands(ex *execution) (out []string) {
	for _, s := range ex.trace.Steps {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d: %s = %s", s.Client, s.Command, s.Reply)))
	}
	return out
}

// results returns the results of operations in order of Return.
func results(ops []harness.Op) (out []string) {
	for _, op := range ops {
		r := op.Result
		if op.Outcome != harness.OK {
			r = op.Outcome.String() + " " + op.Err
		}
		out = append(out, fmt.Sprintf("%d: %s = %s", op.Client, op.Key, r))
	}
	return out
}

// sameClient returns results under each client's first id. A client gets another id after an operation of unknown
// outcome.
func sameClient(ops []harness.Op) []string {
	ops = slices.Clone(ops)
	for i := range ops {
		if ops[i].Client > 0 {
			ops[i].Client = (ops[i].Client-1)%3 + 1 // two clients and the harness
		}
	}
	return results(ops)
}

// leavesNothing runs f and fails if it leaves processes or goroutines behind. Two kinds of goroutine do not count: that
// of package cluster which starts all processes, and those of toxiproxy, which leaves one behind if a link is cut while
// bytes pass.
func leavesNothing(t *testing.T, f func()) {
	t.Helper()
	before := len(goroutines())
	f()
	require.NotContains(t, processes.Children(), "redis-server")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, await.Until(ctx, time.Millisecond, func() error {
		if left := goroutines(); len(left) > before {
			return fmt.Errorf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
		}
		return nil
	}))
}

// goroutines returns the stacks of all goroutines.
func goroutines() []string {
	b := make([]byte, 1<<20)
	stacks := strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n")
	return slices.DeleteFunc(stacks, func(s string) bool {
		return strings.Contains(s, "Shopify/toxiproxy") || strings.Contains(s, "cluster/spawn_linux.go")
	})
}
