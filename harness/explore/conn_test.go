package explore

import (
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// idle is a client without operations.
func idle(context.Context, *harness.Session, redis.UniversalClient) {}

func TestEachCommandOfAPipelineIsAStep(t *testing.T) {
	pipeline := does("pipeline", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		p := r.Pipeline()
		set, incr, get := p.Set(ctx, "a", "1", 0), p.Incr(ctx, "a"), p.Get(ctx, "a")
		_, err := p.Exec(ctx)
		require.NoError(t, err)
		return strings.Join([]string{set.Val(), incr.String(), get.Val()}, "; "), nil
	})
	s := newScheduler(t, quiet(program(pipeline, sends("SET a 7"))))
	ex := s.run(interleave.Run(0), interleave.Run(1), interleave.Run(0), interleave.Run(0))
	require.Equal(t, []string{"1: SET a 1 = OK", "2: SET a 7 = OK", "1: INCR a = 8", "1: GET a = 8"}, commands(ex))
	require.Equal(t, []string{"2: SET a 7 = OK", "1: pipeline = OK; incr a: 8; 8"}, results(ex.ops))
	ex = s.run(interleave.Run(0), interleave.Run(0), interleave.Run(1), interleave.Run(0))
	require.Equal(t, "1: pipeline = OK; incr a: 2; 7", results(ex.ops)[1])
}

func TestATransactionIsOneStep(t *testing.T) {
	s := newScheduler(t, quiet(program(together("TX SET a 1 / INCR b / GET a"), sends("SET a 7", "GET b"))))
	ex := s.begin()
	require.Equal(t, command.Access{Writes: []string{"a", "b"}, Reads: []string{"a"}}, nextMoves(ex)[0].Access)
	s.follow(ex, interleave.Run(1), interleave.Run(0), interleave.Run(1))
	s.finish(ex)
	require.Equal(t, []string{"2: SET a 7 = OK", "1: MULTI … EXEC, writes a, b = [OK, 1, 1]",
		"2: GET b = 1"}, commands(ex))
	require.Equal(t, "SET a 1: OK INCR b: 1 GET a: 1", ex.ops[1].Result)
}

// compareAndSet reads a key, and writes it if no other client has written it meanwhile. It returns both values, or
// "failed".
func compareAndSet(ctx context.Context, r redis.UniversalClient, key, value string) (result string, err error) {
	err = r.Watch(ctx, func(tx *redis.Tx) error {
		old, err := tx.Get(ctx, key).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, value, 0).Err() })
		result = old + " to " + value
		return err
	}, key)
	if err == redis.TxFailedErr {
		return "failed", nil
	}
	return result, err
}

func TestATransactionThatWatchesFailsWhenSomebodyWrites(t *testing.T) {
	s := newScheduler(t, quiet(program(together("CAS a x"), sends("SET a 7"))))
	for after, want := range []string{"7 to x", "failed", "failed", " to x"} {
		path := slices.Insert(slices.Repeat([]interleave.Choice{interleave.Run(0)}, 3), after, interleave.Run(1))
		ex := s.run(path...)
		require.Contains(t, results(ex.ops), "1: CAS a x = "+want, "after %d commands", after)
		require.Len(t, ex.path, 4, "WATCH, GET and EXEC are a step each")
	}
}

// raw returns a client that sends all commands on one connection.
func raw(commands ...string) client {
	return does("raw", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		c := r.(*redis.Client).Conn()
		for _, command := range commands {
			if _, err := say(ctx, c, command); err != nil {
				return command, err
			}
		}
		return "", c.Close()
	})
}

// EXEC counts as reading the watched keys, even if the transaction does not touch them.
func TestATransactionDependsOnWhatItWatches(t *testing.T) {
	s := newScheduler(t, quiet(program(raw("WATCH a", "MULTI", "SET b 1", "EXEC"), idle)))
	ex := s.begin()
	s.follow(ex, interleave.Run(0))
	require.Equal(t, command.Access{Writes: []string{"b"}, Reads: []string{"a"}}, nextMoves(ex)[0].Access)
	s.finish(ex)
}

// UNWATCH and DISCARD stop watching all keys. A queued UNWATCH does not end the MULTI.
func TestTheStateOfAConnection(t *testing.T) {
	many := raw("WATCH a", "UNWATCH", "MULTI", "SET b 1", "DISCARD", "MULTI", "SET c 1", "UNWATCH",
		"SET d 1", "EXEC", "GET b")
	ex := newScheduler(t, quiet(program(many, idle))).run()
	require.Equal(t, []string{"1: WATCH a = OK", "1: MULTI … EXEC, writes c, d = [OK, OK, OK]",
		"1: GET b = (nil)"}, commands(ex))
}

func TestAClientMayHaveSeveralConnections(t *testing.T) {
	several := does("several", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		one, two := r.(*redis.Client).Conn(), r.(*redis.Client).Conn()
		defer func() { require.NoError(t, one.Close()); require.NoError(t, two.Close()) }()
		for _, c := range []*redis.Conn{one, two} {
			require.NoError(t, c.ClientID(ctx).Err()) // not a step
			require.NoError(t, c.Ping(ctx).Err())
		}
		require.NoError(t, one.Set(ctx, "k", "1", 0).Err())
		require.NoError(t, two.Incr(ctx, "k").Err())
		require.NoError(t, r.Incr(ctx, "k").Err())
		return one.Get(ctx, "k").Val(), nil
	})
	ex := newScheduler(t, quiet(program(several, idle))).run()
	require.Equal(t, []string{"1: SET k 1 = OK", "1: INCR k = 2", "1: INCR k = 3", "1: GET k = 3"}, commands(ex))
	require.Equal(t, []string{"1: several = 3"}, results(ex.ops))
}

// Commands that would affect later schedules or stop the server end the search, also in a transaction. SELECT 0 does
// nothing.
func TestWhatOutlivesAScheduleIsRefused(t *testing.T) {
	for command, why := range map[string]string{
		"SELECT 1":                  "client 1's SELECT 1 uses another database, and only database 0 can be explored: use that",
		"SWAPDB 0 1":                "uses another database",
		"MOVE k 3":                  "uses another database",
		"COPY k other DB 2":         "uses another database",
		"REPLICAOF 127.0.0.1 1":     "client 1's REPLICAOF 127.0.0.1 1 changes the server beyond the schedule",
		"ACL SETUSER me on":         "changes the server",
		"DEBUG SET-ACTIVE-EXPIRE 0": "changes the server",
		"CLIENT REPLY OFF":          "client 1's CLIENT REPLY OFF suppresses answers that the search waits for",
	} {
		res := resultOf(t, quiet(program(sends("SELECT 0", "SET k 1", command, "SET k 2"), idle)))
		require.Equal(t, harness.Unknown, res.Verdict())
		require.Contains(t, res.Stopped, why)
	}
}

// What clients load and set in a schedule is undone before the next one.
func TestWhatIsSetInAScheduleIsPutBack(t *testing.T) {
	const library = "#!lua name=mine\n" +
		"redis.register_function('f', function(keys) return redis.call('incr', keys[1]) end)"
	// without REPLACE it fails if the function exists
	loads := does("load", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		if err := r.FunctionLoad(ctx, library).Err(); err != nil {
			return "", err
		}
		if err := r.ConfigSet(ctx, "notify-keyspace-events", "KEA").Err(); err != nil {
			return "", err
		}
		if err := r.ScriptFlush(ctx).Err(); err != nil {
			return "", err
		}
		n, err := r.FCall(ctx, "f", []string{"a"}).Int()
		return strconv.Itoa(n), err
	})
	s := newScheduler(t, quiet(program(loads, idle)))
	for range 3 {
		require.Equal(t, []string{"1: load = 1"}, results(s.run().ops))
		s.begin()
		require.Equal(t, "[]", s.ask(0, "FUNCTION", "LIST"))
		require.Equal(t, "[notify-keyspace-events, ]", s.ask(0, "CONFIG", "GET", "notify-keyspace-events"))
	}
}

func TestValuesLargerThanAnyBuffer(t *testing.T) {
	big := strings.Repeat("x", 300<<10)
	large := does("large", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		require.NoError(t, r.Set(ctx, "k", big, 0).Err())
		p := r.Pipeline()
		one, two := p.Get(ctx, "k"), p.Append(ctx, "k", big)
		_, err := p.Exec(ctx)
		require.NoError(t, err)
		require.Equal(t, big, one.Val())
		require.EqualValues(t, 2*len(big), two.Val())
		return "", nil
	})
	ex := newScheduler(t, quiet(program(large, idle))).run()
	require.Len(t, ex.path, 3)
}

// freeConnection returns a client's connection in a world where no other actor runs.
func freeConnection(t *testing.T) net.Conn {
	t.Helper()
	w := plainWorld(t)
	w.turn.Unlock()
	t.Cleanup(w.turn.Lock) // before the world ends
	nc, err := w.dialers[0].dial(t.Context(), "", "")
	require.NoError(t, err)
	return nc
}

// A client that reads byte by byte gets exactly its reply. One whose connection was closed gets an error.
func TestReadsOfAConnection(t *testing.T) {
	nc := freeConnection(t)
	sent := append(resp.Request("SET", "k", "hello"), resp.Request("GET", "k")...)
	for _, part := range [][]byte{sent[:3], sent[3:40], sent[40:]} {
		n, err := nc.Write(part)
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	got := make([]byte, len("+OK\r\n$5\r\nhello\r\n"))
	_, err := io.ReadFull(iotest.OneByteReader(nc), got)
	require.NoError(t, err)
	require.Equal(t, "+OK\r\n$5\r\nhello\r\n", string(got))
	ended := make(chan error)
	go func() { _, err := nc.Read(make([]byte, 1)); ended <- err }()
	require.NoError(t, nc.Close())
	require.NoError(t, nc.Close())
	require.Error(t, <-ended)
	_, err = nc.Write(sent)
	require.Error(t, err)
}

// A command that changes what others see of a connection is a step, and its effect ends with the schedule.
func TestTheNameOfAConnectionIsForAllToSee(t *testing.T) {
	looks := does("owners", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		list, err := r.ClientList(ctx).Result()
		return strconv.Itoa(strings.Count(list, "name=owner")), err
	})
	s := newScheduler(t, quiet(program(sends("CLIENT SETNAME owner"), looks)))
	for range 2 {
		require.Equal(t, "2: owners = 0", results(s.run(interleave.Run(1), interleave.Run(0)).ops)[0])
		require.Equal(t, "2: owners = 1", results(s.run(interleave.Run(0), interleave.Run(1)).ops)[1])
	}
}

// A program may at any time close the connection on which Program.Observe reads. The connection is then closed when the
// scheduler does not use Redis.
func TestRacedAProgramClosesItsConnectionInATurn(t *testing.T) {
	s := newScheduler(t, quiet(program(sends("PING x"))))
	s.run()
	for range 20 {
		c, err := s.w.probeDialer.dial(interleave.ForAdapter(t.Context()), "", "")
		require.NoError(t, err)
		_, err = c.Write(resp.Request("SUBSCRIBE", "a"))
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 100))
		require.NoError(t, err)
		closed := make(chan error)
		go func() { closed <- c.Close() }()
		for range 100 {
			reply, err := s.w.Ask(0, "PING")
			require.NoError(t, err)
			require.Equal(t, "+PONG\r\n", string(reply))
		}
		back := s.w.giveTurn()
		require.NoError(t, <-closed)
		back()
	}
}

// A TTL set between MULTI and EXEC takes effect with the EXEC.
func TestATransactionMaySetATTL(t *testing.T) {
	c := &conn{dialer: &dialer{world: &world{Server: &server.Server{Scripts: command.NewScripts(nil)}}}}
	exec := func(queued ...string) command.Command {
		for _, words := range [][]string{{"MULTI"}, queued, {"EXEC"}} {
			raw := resp.Request(words...)
			args, _, err := resp.ParseCommand(raw)
			require.NoError(t, err)
			c.Queue = []command.Command{{Raw: raw, Args: args}}
			require.Equal(t, words[0] != "EXEC", c.applyUngated())
		}
		c.Multi = false
		return c.Queue[0]
	}
	require.True(t, exec("EXPIRE", "k", "5").SetsTTL())
	require.False(t, exec("INCR", "k").SetsTTL(), "a TTL of the transaction before")
}

// plainWorld starts a Redis with two clients, whose commands pass without steps.
func plainWorld(t *testing.T) *world {
	t.Helper()
	return newScheduler(t, quiet(program(sends("PING x")))).w
}
