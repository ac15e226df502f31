package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// struckGroups holds the client groups that a fault strikes.
type struckGroups struct {
	fleet  *harness.Fleet
	names  []string // names of the groups, such as "g0"
	groups []int
}

// ofClients returns a fault that chooses client groups and strikes them.
func ofClients(name string, e harness.Effects, f *harness.Fleet, c Topology, t Target,
	strike func(context.Context, struckGroups, *rand.Rand) (harness.Injection, error)) fault {
	return fault{name, e, func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
		s, err := chooseGroups(ctx, f, c, t, rng)
		if err != nil {
			return harness.Injection{}, err
		}
		return strike(ctx, s, rng)
	}}
}

// chooseGroups chooses a fault's client groups. It leaves out groups without clients.
func chooseGroups(ctx context.Context, f *harness.Fleet, c Topology, t Target, rng *rand.Rand) (struckGroups, error) {
	s := struckGroups{fleet: f}
	chosen, err := t.Pick(ctx, populated{c, f}, rng)
	if err != nil { // one that is named may have no clients
		chosen, err = t.Pick(ctx, c, rng)
	}
	if err != nil {
		return s, err
	}
	for _, name := range chosen {
		group := slices.Index(c.ClientGroups(), name)
		if group < 0 {
			known := strings.Join(c.ClientGroups(), ", ")
			return s, fmt.Errorf("%s is not a client group: choose clients, group or one of %s", name, known)
		}
		if f.Clients(group) > 0 {
			s.names, s.groups = append(s.names, name), append(s.groups, group)
		}
	}
	if s.groups == nil {
		none := strings.Join(chosen, ", ")
		return s, fmt.Errorf("no client runs in %s: give the run this fault's Fleet (Spec.Fleet), and enough clients",
			none)
	}
	return s, nil
}

// populated is a topology that shows only the client groups with clients, so that a random choice takes no other group.
// If no group has clients, it shows all groups.
type populated struct {
	Topology
	fleet *harness.Fleet
}

func (m populated) ClientGroups() []string {
	all := m.Topology.ClientGroups()
	var some []string
	for i, name := range all {
		if m.fleet.Clients(i) > 0 {
			some = append(some, name)
		}
	}
	if some == nil {
		return all
	}
	return some
}

// String lists the groups.
func (s struckGroups) String() string { return strings.Join(s.names, ", ") }

// sum adds up the results of the given function for the groups.
func (s struckGroups) sum(count func(group int) int) (n int) {
	for _, g := range s.groups {
		n += count(g)
	}
	return n
}

func (s struckGroups) clients() int { return s.sum(s.fleet.Clients) }

func untilSeen(ctx context.Context, seen func() bool) error {
	return pollUntil(ctx, func() error {
		if !seen() {
			return errNoCheckpoint
		}
		return nil
	})
}

// each calls the given function for each group. It returns a heal that calls every undo function that it got.
func (s struckGroups) each(do func(group int) (undo func())) func(context.Context) error {
	var heals []func()
	for _, g := range s.groups {
		heals = append(heals, do(g))
	}
	return func(context.Context) error {
		for _, heal := range heals {
			heal()
		}
		return nil
	}
}

// errNoCheckpoint says why a fault could not strike any client.
var errNoCheckpoint = errors.New(
	"no client came to a checkpoint: those that think for long, or hang in a command, come to none")
