package workloads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// writes/sadd, the probe for lost writes.
//
//	write    SADD writes n, each n once
//	finally  read the whole set from the primary
//
// Source: Jepsen's analysis of Redis, 2013. The variant is a measurement, not an algorithm: acknowledged numbers that
// are missing in the end were lost. It can run beside any load.
func saddVariant() Variant {
	return Variant{
		ID: "writes/sadd", Family: Writes,
		Doc:    "SADD of unique integers; a final read shows which acknowledged ones are gone",
		Source: "Jepsen 2013",
		Claim:  OneNode,
		Flaws:  []Flaw{{harness.LostWrite, Failover}},
		build:  func(c Connector, o Options) harness.Workload { return saddInto(c, "writes", o) },
	}
}

// saddInto returns a load that adds unique integers to a set, and reads the set after the load.
func saddInto(c Connector, key string, o Options) harness.Workload {
	return &sadd{name: o.Name, key: o.Prefix + key, pool: newPool(c), wait: waitFor(o.Acks), share: o.Share}
}

type sadd struct {
	name, key string
	pool      *pool
	next      atomic.Int64
	wait      waitArguments
	share     Share
}

func (w *sadd) Name() string          { return w.name }
func (w *sadd) Kinds() []harness.Kind { return []harness.Kind{harness.Add, harness.Read} }

func (w *sadd) Open(_ context.Context, group int) (harness.Client, error) {
	r, err := w.pool.client(group)
	if err != nil {
		return nil, err
	}
	return &saddClient{sadd: w, redis: r}, nil
}

type saddClient struct {
	*sadd
	redis redis.UniversalClient
}

// Step adds one integer.
func (c *saddClient) Step(ctx context.Context, s *harness.Session) {
	if add(ctx, s, c.redis, c.wait, c.key, c.share.nth(c.next.Add(1)-1)).Outcome != harness.OK {
		s.Backoff()
	}
}

// add adds n to the set called key, and records the operation.
func add(
	ctx context.Context, s *harness.Session, r redis.UniversalClient, w waitArguments, key string, n int64,
) harness.Op {
	member := strconv.FormatInt(n, 10)
	return s.Invoke(harness.Op{Kind: harness.Add, Key: key, Arg: member}, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		var added *redis.IntCmd
		enough := w.write(ctx, r, func(p redis.Cmdable) { added = p.SAdd(ctx, key, member) })
		call.finish(op, cmp.Or(added.Err(), enough))
	})
}

// Finish reads the whole set and records it as one operation.
func (w *sadd) Finish(ctx context.Context, s *harness.Session) error {
	return readFinally(ctx, s, w.pool, w.key)
}

// readFinally reads a whole set and records it as one operation.
func readFinally(ctx context.Context, s *harness.Session, p *pool, key string) error {
	r, err := p.client(0)
	if err != nil {
		return err
	}
	var members []int64
	op := s.Invoke(harness.Op{Kind: harness.Read, Key: key}, func(op *harness.Op) {
		if members, err = readAll(ctx, s, r, key); err != nil {
			op.Outcome, op.Err = harness.Fail, reason(err)
			return
		}
		op.Outcome, op.Result = harness.OK, formatIntervals(members)
	})
	if op.Outcome != harness.OK {
		return fmt.Errorf("final read: %w", err)
	}
	return nil
}

// readAll scans the set on the primary. A connection that still leads to the old primary is refused and replaced, so
// readAll tries again after an error until ctx ends.
func readAll(ctx context.Context, s *harness.Session, r redis.UniversalClient, key string) ([]int64, error) {
	page := redis.NewScript(lua.ScanOnPrimary)
	var all []int64
	for cursor := "0"; ; {
		reply, err := page.Run(ctx, r, []string{key, key + ":read"}, cursor).Slice()
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			s.Backoff()
			all, cursor = nil, "0" // cursors mean nothing to another node
			continue
		}
		next, members, err := parsePage(reply)
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
		if cursor = next; cursor == "0" {
			break
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil // SSCAN may repeat a member
}

func parsePage(reply []any) (cursor string, members []int64, err error) {
	if len(reply) != 2 {
		return "", nil, fmt.Errorf("SSCAN replied with %d elements", len(reply))
	}
	list, ok := reply[1].([]any)
	if !ok {
		return "", nil, fmt.Errorf("SSCAN replied with a %T", reply[1])
	}
	for _, m := range list {
		n, err := strconv.ParseInt(fmt.Sprint(m), 10, 64)
		if err != nil {
			return "", nil, fmt.Errorf("the set holds what nobody added: %w", err)
		}
		members = append(members, n)
	}
	return fmt.Sprint(reply[0]), members, nil
}

// formatIntervals writes sorted integers as "0-7,9,12-40".
func formatIntervals(sorted []int64) string {
	var b strings.Builder
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, sorted[i])
		if j > i {
			fmt.Fprintf(&b, "-%d", sorted[j])
		}
		i = j + 1
	}
	return b.String()
}
