package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// FreezeClients pauses every client of the chosen client groups, as a long garbage collection or a suspended virtual
// machine does to an application. A freeze that outlasts a lease is the case in Martin Kleppmann's "How to do
// distributed locking": an owner that wakes up goes on as if it still had the lock. Commands under way are executed,
// and their answers are read after the pause. The bite: a client stands still at a checkpoint: see CrashClients. The
// proof says how many do. The heal lets all go on.
//
// f has to be the run's Spec.Fleet as well. t chooses from the client groups of c: Clients(), Group() or a group's
// name.
func FreezeClients(f *harness.Fleet, c Topology, t Target) harness.Nemesis {
	return ofClients("freeze-clients-"+t.String(), harness.StopsClients, f, c, t, freeze)
}

func freeze(ctx context.Context, s struckGroups, _ *rand.Rand) (harness.Injection, error) {
	held := func() int { return s.sum(s.fleet.AtCheckpoint) }
	inj := harness.Injection{Targets: s.names, Frozen: s.groups, Heal: s.each(s.fleet.Pause)}
	if err := untilSeen(ctx, func() bool { return held() > 0 }); err != nil {
		return inj, fmt.Errorf("of %d clients of %s none stands: %w", s.clients(), s, errNoCheckpoint)
	}
	inj.Bite = fmt.Sprintf("%d clients of %s are to stand still, and %d do", s.clients(), s, held())
	inj.Prove = func(ctx context.Context) (string, error) {
		// Some may hang for longer than the fault lasts.
		_ = untilSeen(ctx, func() bool { return held() >= s.clients() })
		return fmt.Sprintf("%d stood", held()), nil
	}
	return inj, nil
}
