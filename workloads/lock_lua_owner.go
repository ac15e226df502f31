package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/lua-owner, one script for each of acquire and release, with a unique owner.
//
//	acquire  script: SETNX key owner, EXPIRE key seconds; true or false
//	release  script: GET, compare, DEL; 1 if the lock was gone, DEL's result if it was the owner's, 2 if another's
//
// Source: the CSDN collection on Redis locks (SETNX_EXPIRE.lua, which answers with booleans); the SoRedisLock article,
// section 3 (the release and its codes). Safe on one node, but a failover may forget a granted lock. The release
// answers 1 both for the owner's lock and for one that was gone. The TTL is rounded up to full seconds.
func luaOwner() Variant {
	return lockVariant("lock/lua-owner", newLuaOwner, Variant{
		Doc:    "script of SETNX and EXPIRE with a unique owner; release script with codes for gone and another's",
		Source: "SoRedisLock article, section 3; CSDN collection on Redis locks",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DoubleGrant, Failover}},
	})
}

type luaOwnerLock struct {
	redis                       redis.UniversalClient
	setnxExpire, releaseByCodes *redis.Script
}

func newLuaOwner(r redis.UniversalClient) Locker {
	return &luaOwnerLock{r, redis.NewScript(lua.LockSetnxExpireBoolean), redis.NewScript(lua.LockReleaseByCodes)}
}

func (l *luaOwnerLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return saysYes(l.setnxExpire.Run(ctx, l.redis, []string{key}, owner, int(fullSeconds(ttl).Seconds())))
}

func (l *luaOwnerLock) Release(ctx context.Context, key, owner string) (bool, error) {
	return saysYes(l.releaseByCodes.Run(ctx, l.redis, []string{key}, owner))
}
