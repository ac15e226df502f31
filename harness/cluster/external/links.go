package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// This file has the methods with which nemeses act on the links of the harness's own clients and observe the
// deployment. They cannot act on anything else.

// RedisNodes lists the names of the Redis nodes that were discovered at the start.
func (s *System) RedisNodes() []string { return names(s.deployment.Nodes) }

// Sentinels lists the names of the Sentinels that were discovered at the start.
func (s *System) Sentinels() []string { return names(s.deployment.Sentinels) }

func names(nodes []clients.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// ClientGroups lists the names of the client groups.
func (s *System) ClientGroups() []string { return s.clients.ClientGroups() }

// Primary returns the primary that a majority of the answering Sentinels name. Without Sentinels it is r1.
func (s *System) Primary(ctx context.Context) (string, error) {
	if s.sentinels == nil {
		return "r1", nil
	}
	votes, answers := map[string]int{}, 0
	for i := range s.sentinels.nodes {
		if addr, err := s.sentinels.primaryAddress(ctx, i, s.deployment.MasterName); err == nil {
			votes[s.clients.Name(addr)]++
			answers++
		}
	}
	for name, n := range votes {
		if n > answers/2 {
			return name, nil
		}
	}
	return "", fmt.Errorf("external: no majority of Sentinels names a primary: %v", votes)
}

// AwaitPromotion waits until a Redis node other than the old primary is primary, and returns its name.
func (s *System) AwaitPromotion(ctx context.Context, old string) (promoted string, err error) {
	err = await.Until(ctx, 100*time.Millisecond, func() error {
		now, err := s.Primary(ctx)
		if err == nil && now == old {
			err = fmt.Errorf("external: no node but %s is primary", old)
		}
		promoted = now
		return err
	})
	return promoted, err
}

// Patience returns how long a failover of the deployment may take. It is generous because the settings are not known.
func (s *System) Patience() time.Duration { return time.Minute }

// Role returns the role that the node reports.
func (s *System) Role(ctx context.Context, node string) (string, error) {
	i := slices.Index(s.RedisNodes(), node)
	if i < 0 {
		return "", fmt.Errorf("external: no node %q", node)
	}
	return s.roleOf(ctx, i), nil
}

var errNotOurs = errors.New("external: only the owner of the deployment knows")

// Suspects returns an error: the harness does not ask Sentinels for their view.
func (s *System) Suspects(context.Context, string) (bool, error) { return false, errNotOurs }

// HasPrimaryLink returns an error: the harness does not ask replicas for their link to the primary.
func (s *System) HasPrimaryLink(context.Context, string) (bool, error) { return false, errNotOurs }

// linkControl lets System embed the interface without an exported field.
type linkControl = harness.LinkControl

// Impair applies a link fault to links of client groups, as [clients.Set.Impair] does. It ignores links that lead to a
// client group, since nobody connects to clients. Any other link is an error.
func (s *System) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	groups := s.ClientGroups()
	ours := slices.DeleteFunc(slices.Clone(links), func(l harness.Link) bool { return slices.Contains(groups, l.To) })
	return s.clients.Impair(ours, f)
}
