package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// lock/lua-constant, scripts that compare a token which is the same for all owners.
//
//	acquire  script: SETNX key TRUE, EXPIRE key seconds
//	release  script: GET, compare with TRUE, DEL
//
// Source: the SoRedisLock article, section 4. Every lock has the value TRUE, so the comparison in the release never
// fails: an owner that outlives its lease deletes the lock of the next owner, and a third is let in. The release also
// answers 1 if the lock was gone, so the caller is told that it had the lock. The TTL is rounded up to full seconds.
func luaConstant() Variant {
	return lockVariant("lock/lua-constant", newLuaConstant, Variant{
		Doc:    "script of SETNX and EXPIRE; compare-and-delete script, with the value TRUE for every owner",
		Source: "SoRedisLock article, section 4",
		Claim:  Nothing,
		Flaws: []Flaw{
			{harness.StolenRelease, LateRelease},
			{harness.DoubleGrant, LateRelease},
			{harness.DoubleGrant, Failover},
		},
	})
}

// locked is everybody's token.
const locked = "TRUE"

type luaConstantLock struct{ luaOwnerLock }

func newLuaConstant(r redis.UniversalClient) Locker {
	return &luaConstantLock{luaOwnerLock{
		r, redis.NewScript(lua.LockSetnxExpire), redis.NewScript(lua.LockReleaseByCodes),
	}}
}

func (l *luaConstantLock) Acquire(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
	return l.luaOwnerLock.Acquire(ctx, key, locked, ttl)
}

func (l *luaConstantLock) Release(ctx context.Context, key, _ string) (bool, error) {
	return l.luaOwnerLock.Release(ctx, key, locked)
}

// saysYes reads the reply of a script that says yes in one of these ways: the integer 1, the status OK, or Lua's true,
// which is the integer 1 in RESP2 and can be a boolean in RESP3. Lua's false is nil in RESP2.
func saysYes(cmd *redis.Cmd) (bool, error) {
	reply, err := cmd.Result()
	if err == redis.Nil {
		return false, nil
	}
	return err == nil && (reply == int64(1) || reply == true || reply == "OK"), err
}
