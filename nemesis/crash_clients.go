package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// CrashClients ends every client of the chosen client groups, once, at one of its next few checkpoints: before a
// command, after its answer, or between two operations. The client does nothing more: it releases none of its locks and
// delivers none of the messages that it claimed. Its worker continues with a new client at once. The bite: a client has
// died. The proof says how many have died before the fault heals. The others die later, at their next checkpoint. There
// is nothing to heal.
//
// f has to be the run's Spec.Fleet as well. t chooses from the client groups of c: Clients(), Group() or a group's
// name.
func CrashClients(f *harness.Fleet, c Topology, t Target) harness.Nemesis {
	return ofClients("crash-clients-"+t.String(), harness.EndsClients, f, c, t, crash)
}

func crash(ctx context.Context, s struckGroups, rng *rand.Rand) (harness.Injection, error) {
	before, doomed := s.sum(s.fleet.Crashes), s.clients()
	died := func() int { return s.sum(s.fleet.Crashes) - before }
	for _, g := range s.groups {
		s.fleet.Crash(g, rng)
	}
	inj := harness.Injection{Targets: s.names}
	if err := untilSeen(ctx, func() bool { return died() > 0 }); err != nil {
		return inj, fmt.Errorf("of %d clients of %s none has died: %w", doomed, s, errNoCheckpoint)
	}
	inj.Bite = fmt.Sprintf("%d clients of %s are to die, and %d have", doomed, s, died())
	inj.Prove = func(ctx context.Context) (string, error) {
		_ = untilSeen(ctx, func() bool { return died() >= doomed }) // some may hang for longer than the fault lasts
		return fmt.Sprintf("%d have died", died()), nil
	}
	return inj, nil
}
