package plan

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/nemesis"
)

// blueprint describes a topology before its cluster exists. Faults are checked against it, so that a plan with a host
// that will not exist is refused before anything starts.
type blueprint struct {
	name                    string
	redis, sentinels, group int
	primaries               int
	elected                 int // index of the node that is assumed to be the primary; Sentinels may elect another

	downAfter time.Duration // down-after of the Sentinels; 0: usualDownAfter
	workers   int           // number of clients, riders included; 0: enough for every group
	external  bool          // whether somebody else runs it; if so, faults can strike only clients and their links
}

var _ nemesis.Topology = blueprint{}

const (
	Standalone = "standalone"
	Sentinel   = "sentinel" // 3 Redis nodes and 3 Sentinels; "sentinel:N" has N of each
	Masters    = "masters:" // followed by the number of masters
	External   = "external" // a Redis that somebody else runs; faults see one primary and no other nodes

	clientGroups = 5
)

// parseTopology reads "standalone", "sentinel", "sentinel:N", "masters:N" or "external".
func parseTopology(name string) (blueprint, error) {
	b := blueprint{name: name, redis: 1, primaries: 1, group: clientGroups}
	kind, number, several := strings.Cut(name, ":")
	n, err := strconv.Atoi(number)
	switch {
	case name == Standalone:
		return b, nil
	case name == External:
		b.external = true
		return b, nil
	case name == Sentinel:
		b.redis, b.sentinels = 3, 3
		return b, nil
	case several && kind == Sentinel && (err != nil || n < 3 || n > cluster.MostMasters):
		return b, fmt.Errorf("%s: ask for %s:3 to %s:%d", name, Sentinel, Sentinel, cluster.MostMasters)
	case several && kind == Sentinel:
		b.redis, b.sentinels = n, n
		return b, nil
	case several && kind+":" == Masters && (err != nil || n < 2 || n > cluster.MostMasters):
		return b, fmt.Errorf("%s: ask for %s2 to %s%d", name, Masters, Masters, cluster.MostMasters)
	case several && kind+":" == Masters:
		b.redis, b.primaries = n, n
		return b, nil
	}
	return b, fmt.Errorf("unknown topology %q: %s", name,
		cmp.Or(suggest.Question("", name, []string{Standalone, Sentinel, External}),
			"choose standalone, sentinel, sentinel:5, masters:5 or external"))
}

// usualDownAfter is the cluster's default for Plan.DownAfter.
const usualDownAfter = time.Second

// Failover returns how long a primary must be gone until Sentinels replace it, on a machine that is not too busy.
func (b blueprint) Failover() time.Duration {
	return cmp.Or(b.downAfter, usualDownAfter) + 2*time.Second
}

// replicas returns the number of replicas of each primary.
func (b blueprint) replicas() int { return b.redis/b.primaries - 1 }

func (b blueprint) cluster(o cluster.Options) *cluster.Cluster {
	o.ClientGroups = b.group
	switch {
	case b.sentinels > 0:
		o.Replicas, o.Sentinels = b.replicas(), b.sentinels
		return cluster.Sentinel(o)
	case b.primaries > 1:
		return cluster.Masters(b.primaries, o)
	default:
		return cluster.Standalone(o)
	}
}

// Primary returns the name of the assumed primary. With several primaries it returns an error.
func (b blueprint) Primary(context.Context) (string, error) {
	if b.primaries > 1 {
		return "", fmt.Errorf("%s has more than one primary", b.name)
	}
	return b.RedisNodes()[b.elected], nil
}

func (b blueprint) RedisNodes() []string   { return numberedNames("r", 1, b.redis) }
func (b blueprint) Sentinels() []string    { return numberedNames("s", 1, b.sentinels) }
func (b blueprint) ClientGroups() []string { return numberedNames("g", 0, b.group) }

func numberedNames(letter string, from, n int) (names []string) {
	for i := range n {
		names = append(names, letter+strconv.Itoa(from+i))
	}
	return names
}

// pickTarget draws the target's hosts as a run could draw them. The draw is the same each time.
func (b blueprint) pickTarget(t nemesis.Target) ([]string, error) {
	return t.Pick(context.Background(), b, rand.New(rand.NewPCG(1, 1)))
}
