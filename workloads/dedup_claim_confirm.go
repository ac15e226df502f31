package workloads

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// dedup/claim-confirm, a filter that marks a message only after its delivery.
//
//	first    SET id token NX PX window/4, and deliver
//	confirm  script: if id holds the token, SET id done PX window
//
// Source: stream processing practice. An unconfirmed claim ends with its lease. Then the message can be claimed again,
// so no message is lost with its worker. The price is delivery at least once: if a worker crashes between delivery and
// confirmation, or takes longer than its lease, another worker delivers the message again. Inside the lease exactly one
// worker is first, on one node.
func dedupClaimConfirm() Variant {
	return dedupVariant("dedup/claim-confirm", newDedupClaimConfirm, Variant{
		Doc:    "SET NX PX for a short lease; after the delivery a compare-and-set script marks for the window",
		Source: "stream processing practice",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.DuplicateDelivery, Failover}},
	})
}

type dedupClaimConfirmFilter struct {
	markedByKey
	script *redis.Script
	tokens map[string]string // tokens of the claims that were granted and not confirmed, by message
}

func newDedupClaimConfirm(r redis.UniversalClient) Deduper {
	return &dedupClaimConfirmFilter{markedByKey{r}, redis.NewScript(lua.DedupConfirm), map[string]string{}}
}

func (f *dedupClaimConfirmFilter) Lease(window time.Duration) time.Duration {
	return dedupLease(window)
}

func (f *dedupClaimConfirmFilter) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	token := newToken(ctx)
	first, err := repliedOK(f.redis.SetArgs(ctx, id, token, redis.SetArgs{Mode: "NX", TTL: f.Lease(window)}))
	if first {
		f.tokens[id] = token
	}
	return first, err
}

func (f *dedupClaimConfirmFilter) Confirm(ctx context.Context, id string, window time.Duration) (bool, error) {
	token, claimed := f.tokens[id]
	if !claimed {
		return false, nil
	}
	delete(f.tokens, id)
	milliseconds := (window + time.Millisecond - 1).Milliseconds() // rounded up: a mark may not end early
	n, err := f.script.Run(ctx, f.redis, []string{id}, token, milliseconds).Int()
	return n == 1, err
}
