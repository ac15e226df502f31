package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// AwaitWhole waits until the cluster is whole. In a whole cluster every node answers. One node is primary and accepts
// writes, every replica is online with the primary, and all Sentinels agree on the primary and consider every node up.
// With several masters, each of them is a primary.
//
// If ctx ends first, the error says what was missing. A full folder of the nodes may be the cause. In that case the
// error says so first, and wraps ErrLimit.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	err := await.Until(ctx, 20*time.Millisecond, func() error { return c.checkWhole(ctx) })
	if err != nil {
		err = errors.Join(TempRoom(), err)
	}
	return err
}

// checkWhole returns nil if the cluster is whole.
func (c *Cluster) checkWhole(ctx context.Context) error {
	var primaries []*node
	for _, n := range c.redis {
		role, err := n.role(ctx)
		switch {
		case err != nil && !n.host.Running():
			return fmt.Errorf("%s has ended: its last words: %s: %w", n.name, lastWordsIn(n.logPath), err)
		case err != nil:
			return fmt.Errorf("%s does not answer: %w", n.name, err)
		}
		if role == harness.RolePrimary {
			primaries = append(primaries, n)
		}
	}
	if len(primaries) != c.topology.primaries {
		return fmt.Errorf("the primaries are %v, and there should be %d", names(primaries), c.topology.primaries)
	}
	for _, p := range primaries {
		if err := c.allReplicasOnline(ctx, p); err != nil {
			return err
		}
	}
	for _, p := range primaries {
		// A node in Redis Cluster's mode accepts writes only once the slots were assigned.
		if err := p.acceptsWrites(ctx); err != nil && !redis.HasErrorPrefix(err, "CLUSTERDOWN") {
			return fmt.Errorf("%s accepts no writes: %w", p.name, err)
		}
	}
	for _, s := range c.sentinels {
		if err := c.sentinelAgrees(ctx, s, primaries[0]); err != nil {
			return fmt.Errorf("sentinel %s: %w", s.name, err)
		}
	}
	return nil
}

// allReplicasOnline returns nil if every replica is online with the primary.
func (c *Cluster) allReplicasOnline(ctx context.Context, primary *node) error {
	info, err := primary.admin.Info(ctx, "replication").Result()
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", primary.name, err)
	}
	if n := strings.Count(info, "state=online"); n != c.topology.replicas {
		return fmt.Errorf("%d of %d replicas online with %s", n, c.topology.replicas, primary.name)
	}
	return nil
}

// sentinelAgrees returns nil if the Sentinel s takes the node in the parameter primary for the primary, and considers
// all nodes up.
func (c *Cluster) sentinelAgrees(ctx context.Context, s, primary *node) error {
	m, err := s.sentinelClient.Master(ctx, masterName).Result()
	if err != nil {
		return err
	}
	want := map[string]string{
		"ip": primary.announcedIP, "flags": harness.RolePrimary,
		"num-slaves": strconv.Itoa(c.topology.replicas), "num-other-sentinels": strconv.Itoa(c.topology.sentinels - 1),
	}
	for field, value := range want {
		if m[field] != value {
			return fmt.Errorf("its primary has %s %q, want %q", field, m[field], value)
		}
	}
	info, err := s.admin.Info(ctx, "sentinel").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "sentinel_tilt:0") {
		return errors.New("it is in TILT mode")
	}
	sentinels, err := s.sentinelClient.Sentinels(ctx, masterName).Result()
	if err != nil {
		return err
	}
	for _, other := range sentinels {
		// A flag "master_down" does not count: it is what this Sentinel last heard from the other, up to 5 s ago.
		if strings.Contains(other["flags"], "s_down") || strings.Contains(other["flags"], "disconnected") {
			return fmt.Errorf("it sees the Sentinel at %s as %q", other["ip"], other["flags"])
		}
	}
	replicas, err := s.sentinelClient.Replicas(ctx, masterName).Result()
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if r["flags"] != harness.RoleReplica || r["master-host"] != primary.announcedIP {
			return fmt.Errorf("its replica %s is %q of %q", r["ip"], r["flags"], r["master-host"])
		}
	}
	return nil
}

// role asks the node, past the fabric, for its role.
func (n *node) role(ctx context.Context) (string, error) {
	answer, err := n.askRole(ctx)
	return answer.role, err
}

// reportedRole is what a node answers about its role.
type reportedRole struct {
	role    string
	follows string // for a replica: the address of its primary, such as "127.7.2.1 6379"
	offset  int64  // for a primary: its position in the replication stream, in bytes
}

// askRole asks the node itself for its role, its primary and its offset, past the fabric.
func (n *node) askRole(ctx context.Context) (answer reportedRole, err error) {
	reply, err := n.admin.Do(ctx, "ROLE").Slice()
	if err != nil {
		return answer, err
	}
	if len(reply) == 0 {
		return answer, fmt.Errorf("empty reply to ROLE")
	}
	switch answer.role = fmt.Sprint(reply[0]); {
	case answer.role == harness.RoleReplica && len(reply) >= 3:
		answer.follows = fmt.Sprint(reply[1], " ", reply[2])
	case answer.role == harness.RolePrimary && len(reply) >= 2:
		answer.offset, _ = reply[1].(int64)
	}
	return answer, nil
}

// promotionOffset returns the offset in the replication stream at which a former replica was promoted.
func (n *node) promotionOffset(ctx context.Context) (offset int64, err error) {
	first, err := n.infoNumber(ctx, "replication", "second_repl_offset") // the first byte of its own stream
	if err == nil && first < 1 {
		err = fmt.Errorf("%s was never promoted: its second_repl_offset is %d", n.name, first)
	}
	return first - 1, err
}

// infoNumber returns the number in a field of the node's INFO.
func (n *node) infoNumber(ctx context.Context, section, field string) (int64, error) {
	info, err := n.admin.Info(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	_, value, _ := strings.Cut(info, field+":")
	value, _, _ = strings.Cut(value, "\r\n")
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s does not tell its %s: %w", n.name, field, err)
	}
	return number, nil
}

// writeProbe writes a key and removes it. It is a script, so clients never see the key. The write is not replicated,
// and is refused or delayed like any other write.
const writeProbe = `redis.set_repl(redis.REPL_NONE) redis.call('SET', KEYS[1], '') return redis.call('DEL', KEYS[1])`

// AcceptsWrites returns nil if the node accepts writes. It tries a write that leaves no trace and is not replicated.
func (c *Cluster) AcceptsWrites(ctx context.Context, name string) error {
	return c.onNode(name, func(n *node) error { return n.acceptsWrites(ctx) })
}

func (n *node) acceptsWrites(ctx context.Context) error {
	return n.admin.Do(ctx, "EVAL", writeProbe, 1, "doublegrant:probe").Err()
}
