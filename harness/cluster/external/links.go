package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// This file has the methods by which nemeses act on the links of our own clients, and look at the deployment. Nothing else of it can
// be struck.

// RedisNodes lists the names of the Redis nodes that were found at the start.
func (s *System) RedisNodes() (names []string) {
	for _, n := range s.deployment.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Sentinels lists the names of the Sentinels that were found at the start.
func (s *System) Sentinels() (names []string) {
	for _, n := range s.deployment.Sentinels {
		names = append(names, n.Name)
	}
	return names
}

// ClientGroups lists the names of the client groups.
func (s *System) ClientGroups() []string { return s.clients.ClientGroups() }

// Primary returns the name of the node that a majority of the Sentinels that answer names. Without Sentinels it is r1.
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

// AwaitPromotion waits until a Redis node other than old is primary, and returns its name.
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

// Patience returns how long a failover of the deployment may take: nobody knows its settings.
func (s *System) Patience() time.Duration { return time.Minute }

// Role returns what the node says that it is.
func (s *System) Role(ctx context.Context, node string) (string, error) {
	i := slices.Index(s.RedisNodes(), node)
	if i < 0 {
		return "", fmt.Errorf("external: no node %q", node)
	}
	return s.roleOf(ctx, i), nil
}

var errNotOurs = errors.New("external: nobody but the deployment's owner knows")

// Suspects is an error: what a Sentinel believes is not asked.
func (s *System) Suspects(context.Context, string) (bool, error) { return false, errNotOurs }

// Hears is an error: whom a replica hears is not asked.
func (s *System) Hears(context.Context, string) (bool, error) { return false, errNotOurs }

// linkControl is embedded under a name that is not exported.
type linkControl = harness.LinkControl

// Impair does a link fault to the links of client groups, as [attached.Clients.Impair] does. Links to client groups, which carry
// nothing, are left out; any other link is an error.
func (s *System) Impair(links []harness.Link, f harness.LinkFault) (heal func() error, err error) {
	groups := s.ClientGroups()
	ours := slices.DeleteFunc(slices.Clone(links), func(l harness.Link) bool { return slices.Contains(groups, l.To) })
	return s.clients.Impair(ours, f)
}
