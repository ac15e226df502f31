package workloads

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/lua-setnx-setex-keys, a script that gets all its arguments as keys.
//
//	acquire  script: SETNX KEYS[1] KEYS[3], SETEX KEYS[1] KEYS[2] KEYS[3]; OK or "faild"
//	release  script: GET, compare, DEL
//
// Source: "Lua in Redis", which shows no release; this one is the reference lock's. Safe on one node, but a failover
// may forget a granted lock. On a Cluster every acquire is refused with CROSSSLOT, since the TTL and the value are not
// keys in the lock's slot. The TTL is rounded up to full seconds.
func luaKeys() Variant {
	return lockVariant("lock/lua-setnx-setex-keys", newLuaKeys, Variant{
		OwnKeys: true,
		Doc:     "script of SETNX and SETEX, with TTL and value passed as keys; release by compare-and-delete script",
		Source:  "Lua in Redis (article)",
		Claim:   OneNode,
		Flaws:   []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type luaKeysLock struct {
	setNXPXLock
	setnxSetex *redis.Script
}

func newLuaKeys(r redis.UniversalClient) Locker {
	return &luaKeysLock{compareDeleteLock(r), redis.NewScript(lua.LockSetnxSetexKeys)}
}

func (l *luaKeysLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	seconds := fmt.Sprint(int(fullSeconds(ttl).Seconds()))
	return saysYes(l.setnxSetex.Run(ctx, l.redis, []string{key, seconds, owner}))
}
