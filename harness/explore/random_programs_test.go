package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file draws the random programs whose searches are compared.

// kind is a kind of random program, and what may happen to its clients.
type kind struct {
	name     string
	menu     []string // commands to choose from
	first    uint64   // first seed
	programs uint64   // programs in a long test, one for each seed
	clients  int
	commands int         // commands of each client, at least
	change   func(*Spec) // nil: nothing goes wrong
}

// Menus of commands.
var (
	plain    = []string{"GET $k", "GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v"}
	leases   = with(plain, "SET $k $v EX 10", "SET $k $v PX 1000", "PERSIST $k", "EXPIRE $k 10", "PTTL $k")
	several  = with(plain, "TX GET $k / INCR $k", "MGET a b", "DEL a b")
	scripts  = with(plain, "RUN bump $k", "RUN bump $k", "RUN lease $k", "RUN left $k")
	watches  = with(plain, "CAS $k $v", "CAS $k $v", "TX GET $k / INCR $k")
	clocks   = with(leases, "CLOCK", "CLOCK")
	waits    = []string{"LPUSH $k $v", "RPUSH $k $v", "BLPOP $k 0", "BLPOP a b 5", "BLMOVE a b LEFT LEFT 7", "LLEN $k"}
	threads  = with(plain, "THREAD INCR $k", "THREAD NAP", "THREAD SET $k $v EX 10", "NAP")
	messages = with(plain, "LISTEN $k", "PUBLISH $k $v", "PUBLISH $k $v")
)

func with(menu []string, more ...string) []string { return slices.Concat(menu, more) }

// Changes of a Spec.
func mayCrash(s *Spec)         { s.Crashes = 1 }
func mayExpire(s *Spec)        { s.Expiries = 1 }
func mayCrashOrExpire(s *Spec) { s.Crashes, s.Expiries = 1, 1 }
func mayBeLate(s *Spec)        { s.Late = 1 }
func mayFailOver(s *Spec)      { s.Failovers = 1 }
func mayFlush(s *Spec)         { s.Flushes = 1 }
func mayFailOverAndWait(s *Spec) {
	mayFailOver(s)
	s.Program.Replicas = true // so that withReplicas need not begin again
}
func observed(s *Spec) {
	s.Program.Observe = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ harness.Op) {
		dump(ctx, s, r)
	}
}

// spec draws a program from a seed and a stream, and returns its search. what names the program.
func (k kind) spec(seed, stream uint64) (spec Spec, what string) {
	rng := rand.New(rand.NewPCG(seed, stream))
	var texts []script
	for range k.clients {
		texts = append(texts, randomScript(rng, k.commands+rng.IntN(2), k.menu))
	}
	spec = quiet(scripted(texts))
	spec.Clients = k.clients
	if k.change != nil {
		k.change(&spec)
	}
	return spec, fmt.Sprintf("%s, seed %d: %v", k.name, seed, texts)
}

// tryRandom calls f with random programs of each kind and a world for them: with all if long is true, otherwise with
// the first of each.
func tryRandom(t *testing.T, kinds []kind, stream uint64, long bool, f func(s *scheduler, spec Spec, what string)) {
	worlds := map[int]*scheduler{} // by failovers
	for _, k := range kinds {
		needs, _ := k.spec(k.first, stream)
		if worlds[needs.Failovers] == nil {
			needs.Clients = interleave.MaxExhaustive
			worlds[needs.Failovers] = newScheduler(t, needs)
		}
		s := worlds[needs.Failovers]
		t.Run(k.name, func(t *testing.T) {
			s.t = t
			for n := range k.programs {
				if n > 0 && !long {
					break
				}
				spec, what := k.spec(k.first+n, stream)
				f(s, spec, what)
			}
		})
	}
}

// script lists a client's operations, each with a few commands.
type script [][]string

// work is an operation without commands that takes time.
const work = "WORK"

func (s script) String() string {
	var ops []string
	for _, op := range s {
		ops = append(ops, "["+strings.Join(op, ", ")+"]")
	}
	return strings.Join(ops, " ")
}

// randomScript draws a script of n commands.
func randomScript(rng *rand.Rand, n int, menu []string) (s script) {
	for n > 0 {
		size := min(n, 1+rng.IntN(3))
		n -= size
		var op []string
		for range size {
			c := menu[rng.IntN(len(menu))]
			c = strings.ReplaceAll(c, "$k", []string{"a", "b"}[rng.IntN(2)])
			op = append(op, strings.ReplaceAll(c, "$v", fmt.Sprint(10*rng.IntN(100))))
		}
		s = append(s, op)
	}
	return s
}

// does runs the script as a client.
func (s script) does(ctx context.Context, session *harness.Session, r redis.UniversalClient) {
	for i, commands := range s {
		name := fmt.Sprintf("op %d", i)
		if commands[0] == work {
			if name = work; !session.Sleep(time.Millisecond) {
				return
			}
		}
		got := op(session, name, func() (string, error) { return performAll(ctx, r, commands) })
		if got.Outcome != harness.OK {
			return
		}
	}
}

// performAll runs commands until one fails.
func performAll(ctx context.Context, r redis.UniversalClient, commands []string) (string, error) {
	var all []string
	for _, c := range commands {
		result, err := perform(ctx, r, c)
		if err != nil {
			return "", err
		}
		all = append(all, result)
	}
	return strings.Join(all, " "), nil
}

// perform sends a command, reads the clock or sleeps. It runs a transaction ("TX GET a / INCR b"), changes a key under
// WATCH ("CAS a 5"), runs a script ("RUN bump a"), by its hash first, runs a command in a thread ("THREAD GET a"), or
// waits for a message ("LISTEN a").
func perform(ctx context.Context, r redis.UniversalClient, c string) (string, error) {
	word, rest, _ := strings.Cut(c, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch word {
	case "CLOCK":
		return fmt.Sprint(harness.Now(ctx).After(keyspace.Epoch.Add(lease / 2))), nil
	case "NAP":
		return "", harness.Sleep(ctx, lease)
	case work:
		return "", nil
	case "TX":
		return transaction(ctx, r, strings.Split(rest, " / "))
	case "CAS":
		return compareAndSet(ctx, r, first, second)
	case "RUN":
		v, err := testScripts[first].Run(ctx, r, []string{second}).Result()
		return fmt.Sprint(v), err
	case "THREAD":
		harness.Go(ctx, func(ctx context.Context) { _, _ = perform(ctx, r, rest) })
		return say(ctx, r, "GET a")
	case "LISTEN":
		return listenOnce(ctx, r, first)
	}
	return say(ctx, r, c)
}

func transaction(ctx context.Context, r redis.UniversalClient, commands []string) (string, error) {
	cmds, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, c := range commands {
			_, _ = say(ctx, p, c)
		}
		return nil
	})
	var all []string
	for _, cmd := range cmds {
		all = append(all, cmd.String())
	}
	if err == redis.Nil {
		err = nil
	}
	return strings.Join(all, " "), err
}

// dump reads the whole store.
var dump = sends("MGET a b")

// inTheEnd returns a Program.Finally that does what the client look does.
func inTheEnd(look client) func(context.Context, *harness.Session, redis.UniversalClient, interleave.After) error {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ interleave.After) error {
		look(ctx, s, r)
		return nil
	}
}

// scripted returns a program of scripts that looks at the store at its end.
func scripted(scripts []script) interleave.Program {
	var clients []client
	for _, s := range scripts {
		clients = append(clients, s.does)
	}
	p := program(clients...)
	p.Kinds = nil
	p.Finally = inTheEnd(dump)
	return p
}

// Scripts of random programs, by name.
var testScripts = map[string]*redis.Script{
	"bump":  redis.NewScript(`return redis.call('incr', KEYS[1])`),
	"lease": redis.NewScript(`return redis.call('set', KEYS[1], redis.call('time')[1], 'NX', 'EX', 10) and 1 or 0`),
	"left":  redis.NewScript(`return redis.call('pttl', KEYS[1]) > 5000 and redis.call('del', KEYS[1]) or 0`),
}

// listenOnce subscribes to a channel and waits for a message, for a lease at most.
func listenOnce(ctx context.Context, r redis.UniversalClient, channel string) (string, error) {
	sub := r.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(ctx); err != nil {
		return "", err
	}
	m, err := sub.ReceiveTimeout(ctx, lease)
	if message, ok := m.(*redis.Message); ok {
		return message.Payload, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "nothing", nil
	}
	return "", err
}
