package lua_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/lua"
)

// This file runs every script of the folder in every way that scripts are run.

// each calls f with every script that has an example, in a subtest.
func each(t *testing.T, f func(t *testing.T, source string, x example)) {
	for name, source := range lua.All() {
		if x, ok := examples[name]; ok {
			t.Run(strings.TrimSuffix(name, ".lua"), func(t *testing.T) { f(t, source, x) })
		}
	}
}

func TestEveryScriptHasAnExample(t *testing.T) {
	scripts, described := slices.Collect(maps.Keys(lua.All())), slices.Collect(maps.Keys(examples))
	require.ElementsMatch(t, scripts, described, "write down what it answers in examples_test.go")
}

// The first line of a script says what it does. Its keys, its answers and its source follow, in this order.
func TestEveryScriptHasAHeader(t *testing.T) {
	each(t, func(t *testing.T, source string, _ example) {
		require.Regexp(t, `(?s)\A-- .*\n-- KEYS\[1\].*\n-- returns.*\n-- source`, source)
	})
}

func TestEveryScriptAnswersTheSameUnderBothProtocols(t *testing.T) {
	r := connect(t, standalone(t))
	for _, protocol := range protocols {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			p := speaking(t, r, protocol)
			each(t, func(t *testing.T, source string, x example) { x.run(t, p, source) })
		})
	}
}

// confined returns a client whose user, on the server of r, may touch only keys.
func confined(t *testing.T, r *redis.Client, keys ...string) *redis.Client {
	t.Helper()
	rules := []string{"reset", "on", "nopass", "+@all"}
	for _, k := range keys {
		rules = append(rules, "~"+k, "&"+k) // a channel is declared as a key
	}
	require.NoError(t, r.ACLSetUser(t.Context(), "confined", rules...).Err())
	o := options(r)
	o.Username, o.Password = "confined", "any"
	return open(t, o)
}

func TestEveryScriptTouchesOnlyTheKeysItDeclares(t *testing.T) {
	r := connect(t, standalone(t))
	each(t, func(t *testing.T, source string, x example) {
		x.run(t, confined(t, r, x.declared()...), source)
	})
}

func TestEveryScriptRunsOnAClusterIfItsKeysShareASlot(t *testing.T) {
	r := clusterNode(t)
	each(t, func(t *testing.T, source string, x example) {
		if x.misuses {
			return // the values among its keys cannot be given a hash tag
		}
		x = x.tagged()
		x.run(t, r, source)
		// After a shebang Redis refuses keys in other slots, even those of this node.
		x.run(t, r, "#!lua\n"+source)
	})
	t.Run("refused if they do not", func(t *testing.T) {
		each(t, func(t *testing.T, source string, x example) {
			for _, c := range x.calls {
				if keys := strings.Fields(c.keys); len(keys) > 1 {
					err := redis.NewScript(source).Run(t.Context(), r, keys, args(c.argv)...).Err()
					require.EqualError(t, err, "CROSSSLOT Keys in request don't hash to the same slot", "%v", c.keys)
				}
			}
		})
	})
}

// comeBack requires that every script is answered NOSCRIPT on the server of r, and works all the same.
func comeBack(t *testing.T, r *redis.Client) {
	t.Helper()
	each(t, func(t *testing.T, source string, x example) {
		err := r.EvalSha(t.Context(), redis.NewScript(source).Hash(), x.declared()).Err()
		require.True(t, redis.HasErrorPrefix(err, "NOSCRIPT"), "%v", err)
		x.run(t, r, source)
	})
}

// load makes every script known to the server of r, by SCRIPT LOAD and by EVAL.
func load(t *testing.T, r *redis.Client) {
	t.Helper()
	each(t, func(t *testing.T, source string, x example) {
		require.NoError(t, r.ScriptLoad(t.Context(), source).Err())
		x.run(t, r, source)
		require.Equal(t, []bool{true}, r.ScriptExists(t.Context(), redis.NewScript(source).Hash()).Val())
	})
}

func TestEveryScriptComesBackAfterScriptFlushAndARestart(t *testing.T) {
	c := standalone(t)
	r := connect(t, c)
	load(t, r)
	require.NoError(t, r.ScriptFlush(t.Context()).Err())
	comeBack(t, r)
	load(t, r)
	require.NoError(t, c.Kill("r1"))
	require.NoError(t, c.Restart(t.Context(), "r1"))
	comeBack(t, open(t, options(connect(t, c))))
}

func TestEveryScriptComesBackAfterAFailover(t *testing.T) {
	ctx := t.Context()
	c := clustertest.Start(t, cluster.Sentinel(cluster.Options{OpTimeout: patience}))
	r := connect(t, c)
	load(t, r)
	require.NoError(t, r.Set(ctx, "last", "1", 0).Err())
	require.Equal(t, int64(2), r.Wait(ctx, 2, patience/2).Val(), "the replicas lag")

	old, err := c.Primary(ctx)
	require.NoError(t, err)
	require.NoError(t, c.Kill(old))
	_, err = c.AwaitPromotion(ctx, old)
	require.NoError(t, err)
	written := func() bool { return r.Set(ctx, "after", "1", 0).Err() == nil }
	require.Eventually(t, written, 2*patience, 20*time.Millisecond, "no write after the failover")
	require.Equal(t, "1", r.Get(ctx, "last").Val())
	comeBack(t, r) // data is replicated, and scripts are not
}
