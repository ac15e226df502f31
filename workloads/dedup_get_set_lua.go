package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// dedup/get-set-lua, the commands of dedup/get-set in one script.
//
//	first    script: GET; if absent SET, EXPIRE, return 0; else return 1
//
// Source: "Atomic operations by Lua", plan two. Exactly one worker is first, on one node.
func dedupGetSetLua() Variant {
	return dedupVariant("dedup/get-set-lua", newDedupGetSetLua, Variant{
		Doc:    "script: GET; if absent SET, EXPIRE",
		Source: "Atomic operations by Lua (article), plan two",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.LostMessage, Crash}, {harness.DuplicateDelivery, Failover}},
	})
}

type dedupGetSetLuaFilter struct {
	markedByKey
	script *redis.Script
}

func newDedupGetSetLua(r redis.UniversalClient) Deduper {
	return &dedupGetSetLuaFilter{markedByKey{r}, redis.NewScript(lua.DedupGetSet)}
}

func (f *dedupGetSetLuaFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	seen, err := f.script.Run(ctx, f.redis, []string{id}, "1", int(fullSeconds(window).Seconds())).Int()
	return err == nil && seen == 0, err
}
