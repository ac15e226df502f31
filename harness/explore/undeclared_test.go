package explore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// evals returns a client that runs a script once, with keys and arguments.
func evals(text string, keys []string, args ...any) client {
	return does("script", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return "ran", r.Eval(ctx, text, keys, args...).Err()
	})
}

// undeclared searches two clients and returns what the smallest counterexample says about an undeclared key; empty:
// none.
func undeclared(t *testing.T, change func(*Spec), clients ...client) string {
	t.Helper()
	s := quiet(program(clients...))
	change(&s)
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, res.Stopped)
	for _, c := range res.Counterexamples {
		if c.Anomaly.Class == harness.UndeclaredKey {
			require.NoError(t, Replay(t.Context(), s, c, 2))
			return c.Anomaly.Note
		}
	}
	require.Empty(t, res.Counterexamples)
	return ""
}

func TestAKeyThatAScriptDoesNotDeclareIsFound(t *testing.T) {
	t.Parallel()
	other := evals(`return redis.call('get', KEYS[1])`, []string{"a"})
	for name, c := range map[string]struct {
		says    string
		clients []client
	}{
		"one that it makes of another": {
			`touches a:count, which is not among its KEYS (a), and keys of another slot`, []client{
				evals(`redis.call('get', KEYS[1]) return redis.call('incr', KEYS[1] .. ':count')`, []string{"a"}),
				other,
			}},
		"one that is an argument, and read": {`touches b, which`,
			[]client{evals(`return redis.call('exists', KEYS[1], ARGV[1])`, []string{"a"}, "b"), other}},
		"no KEYS at all": {`touches a, which is not among its KEYS ()`,
			[]client{evals(`redis.call('set', 'a', 1) return redis.call('set', 'b', 1)`, nil), other}},
		"by a command that only the server knows": {`touches b, which`, []client{
			evals(`return redis.call('sunionstore', KEYS[1], KEYS[1], 'b')`, []string{"a"}), other,
		}},
		"in a call that may fail": {`touches b, which`,
			[]client{evals(`redis.call('get', KEYS[1]) redis.pcall('incr', 'b') return 1`, []string{"a"}), other}},
		"where somebody was there before": {`client 2's EVAL`, []client{
			evals(`return redis.call('set', KEYS[1], 1)`, []string{"a"}),
			evals(`if redis.call('exists', KEYS[1]) == 1 then redis.call('get', 'last') end return 1`, []string{"a"}),
		}},
		"in a transaction": {`EXEC touches b, which`, []client{
			does("transaction", func(ctx context.Context, r redis.UniversalClient) (string, error) {
				_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Eval(ctx, `return redis.call('set', KEYS[1], 1)`, []string{"a"})
					p.Eval(ctx, `redis.call('get', KEYS[1]) return redis.call('set', 'b', 1)`, []string{"a"})
					return nil
				})
				return "done", err
			}), other,
		}},
		"in a function": {`touches b, which`, []client{
			does("function", func(ctx context.Context, r redis.UniversalClient) (string, error) {
				if err := r.FunctionLoadReplace(ctx, "#!lua name=mine\nredis.register_function('f', function(keys) "+
					"redis.call('get', keys[1]) return redis.call('set', 'b', 1) end)").Err(); err != nil {
					return "", err
				}
				return "done", r.FCall(ctx, "f", []string{"a"}).Err()
			}), other,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, undeclared(t, func(*Spec) {}, c.clients...), c.says)
		})
	}
}

// A key that a script touches only after the end of a lease is found, in a live schedule and from memory.
func TestAKeyThatIsTouchedOnceALeaseIsOverIsFound(t *testing.T) {
	t.Parallel()
	takes := evals(`if redis.call('set', KEYS[1], 1, 'NX', 'PX', ARGV[1]) then return 1 end return 0`,
		[]string{"a"}, lease.Milliseconds())
	late := evals(`if redis.call('exists', KEYS[1]) == 0 and redis.call('exists', KEYS[2]) == 1 then `+
		`redis.call('set', 'takeovers', 1) end return 1`, []string{"a", "seen"})
	seen := evals(`return redis.call('set', KEYS[1], 1)`, []string{"seen"})
	for _, really := range []bool{false, true} {
		note := undeclared(t, func(s *Spec) { s.Expiries, s.WithoutMemory = 1, really }, inTurn(takes, seen), late)
		require.Contains(t, note, "client 2's EVAL")
		require.Contains(t, note, "touches takeovers, which is not among its KEYS (a seen)")
	}
}

// Scripts that touch only what they declare are not reported, however odd they are.
func TestScriptsThatDeclareTheirKeysAreRight(t *testing.T) {
	requireDeclared(t, map[string][]client{
		"two keys of one slot": {
			evals(`redis.call('set', KEYS[1], 1) return redis.call('incr', KEYS[2])`,
				[]string{"{a}:lock", "{a}:count"}),
			evals(`return redis.call('mget', unpack(KEYS))`, []string{"{a}:lock", "{a}:count"}),
		},
		"one that it makes of another, and no other": {
			evals(`return redis.call('incr', KEYS[1] .. ':count')`, []string{"a"}),
			evals(`return redis.call('set', 'a', 1)`, nil),
		},
		"one that says it is for one server": {
			evals("#!lua flags=no-cluster\nreturn redis.call('mget', KEYS[1], KEYS[1] .. ':count')", []string{"a"}),
			evals(`return redis.call('dbsize')`, nil),
		},
	})
}

func TestLongScriptsThatDeclareTheirKeysAreRight(t *testing.T) {
	testenv.NeedLong(t)
	requireDeclared(t, map[string][]client{
		"two keys, in another order": {
			evals(`return redis.call('mget', KEYS[2], KEYS[1])`, []string{"a", "b"}),
			evals(`return redis.call('sunionstore', KEYS[1], KEYS[2])`, []string{"c", "d"}),
		},
		"channels and clocks are no keys": {
			evals(`redis.call('publish', ARGV[1], 'free') redis.call('time') return redis.call('ping')`,
				[]string{"a"}, "channel:a"),
			evals(`return redis.status_reply(redis.call('echo', KEYS[1]))`, []string{"a"}),
		},
		"one with the same tag": {
			evals(`redis.call('get', KEYS[1]) return redis.call('incr', '{' .. KEYS[1] .. '}:count')`, []string{"a"}),
			evals(`return redis.call('mget', KEYS[1], '{' .. KEYS[1] .. '}')`, []string{"a"}),
		},
		"one made of the words of its keys": {
			evals(`return redis.call('get', string.sub(KEYS[1], 1, 1) .. string.sub(KEYS[1], 2))`,
				[]string{"a\"b \r\n\xff"}),
			evals(`return redis.pcall('get')`, []string{"a"}),
		},
	})
}

func requireDeclared(t *testing.T, all map[string][]client) {
	t.Helper()
	t.Parallel()
	for name, clients := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Empty(t, undeclared(t, func(s *Spec) { s.Late = 1 }, clients...))
		})
	}
}

// A script that uses another database is refused, since the next schedule would find what it has stored there.
func TestAScriptThatUsesAnotherDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	res, err := Search(t.Context(), quiet(
		program(evals(`redis.call('select', 1) return redis.call('incr', KEYS[1])`, []string{"a"}), sends("GET a"))))
	require.NoError(t, err)
	require.Equal(t, "a script has used database 1, and only database 0 can be explored", res.Stopped)
}
