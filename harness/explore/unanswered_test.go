package explore

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// lossy returns a Spec in which an answer may be lost, a command may be lost and a command may be late, each once.
func lossy(p interleave.Program) Spec {
	spec := quiet(p)
	spec.LostAnswers, spec.LostCommands, spec.Late = 1, 1, 1
	return spec
}

const waitedInVain = "info read unix: i/o timeout"

func TestAnAnswerOrACommandThatIsLost(t *testing.T) {
	s := newScheduler(t, lossy(program(sends("INCR a", "GET a"), sends("GET a"))))
	for range 2 {
		for lost, c := range map[interleave.Choice]struct{ told, read string }{
			interleave.LoseAnswer(0):  {"1: INCR a = 1 (the answer is lost)", "1"},
			interleave.LoseCommand(0): {"1: INCR a = (the command is lost)", "(nil)"},
		} {
			ex := s.run(lost, interleave.Run(1), interleave.Run(0))
			require.Equal(t, []string{"1: INCR a = " + waitedInVain, "2: GET a = " + c.read, "1: GET a = " + c.read},
				sameClient(ex.ops))
			require.Equal(t, c.told, commands(ex)[0])
		}
	}
}

// A late command is executed after its client has gone on, at the latest after all clients are done.
func TestACommandThatIsLate(t *testing.T) {
	s := newScheduler(t, lossy(program(sends("INCR a", "GET a"), sends("GET a", "GET a"))))
	for range 2 {
		ex := s.begin()
		s.follow(ex, interleave.Delay(0))
		require.NotContains(t, possible(ex), interleave.Arrive(0), "that would be a lost answer")
		s.follow(ex, interleave.Run(0), interleave.Run(1), interleave.Arrive(0), interleave.Run(1))
		require.Empty(t, possible(ex))
		require.Equal(t, []string{"1: INCR a = " + waitedInVain, "1: GET a = (nil)", "2: GET a = (nil)",
			"2: GET a = 1"}, sameClient(ex.ops))
		require.Equal(t, []string{"1: INCR a = (no answer: the command is late)", "0: client 1's INCR a arrives = 1"},
			[]string{commands(ex)[0], commands(ex)[3]})
		ex = s.begin()
		s.follow(ex, interleave.Delay(0), interleave.Run(0), interleave.Run(1), interleave.Run(1))
		require.Equal(t, []interleave.Choice{interleave.Arrive(0)}, possible(ex))
		s.finish(ex)
	}
}

// A late transaction still watches its keys.
func TestALateTransaction(t *testing.T) {
	for meanwhile, arrives := range map[string]string{"SET a 7": " arrives = (nil)", "SET c 7": " arrives = [OK]"} {
		s := newScheduler(t, lossy(program(together("CAS a 1"), sends(meanwhile))))
		ex := s.run(interleave.Run(0), interleave.Run(0), interleave.Delay(0), interleave.Run(1), interleave.Arrive(0))
		require.Contains(t, commands(ex)[4], arrives)
	}
}

// For a command that changes nothing, late is the same as lost. So it is not late if it can be lost.
func TestWhatNeedNotBeLost(t *testing.T) {
	s := newScheduler(t, lossy(program(sends("GET a", "SET a 1"), idle)))
	ex := s.begin()
	require.Equal(t, []interleave.Choice{interleave.Run(0), interleave.LoseAnswer(0),
		interleave.LoseCommand(0)}, possible(ex))
	s.follow(ex, interleave.Run(0))
	require.Equal(t, []interleave.Choice{interleave.Run(0), interleave.LoseAnswer(0), interleave.LoseCommand(0),
		interleave.Delay(0)}, possible(ex))
	s.follow(ex, interleave.LoseAnswer(0))
	require.Empty(t, possible(ex))
}

// If the answer to a SET NX is lost, the library sends it again. The client is then refused, by the key that it has
// set.
func TestALibraryThatTriesAgain(t *testing.T) {
	setNX := does("lock", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		var err error
		for range 2 {
			var ok bool
			if ok, err = r.SetNX(ctx, "lock", "mine", lease).Result(); err == nil {
				return map[bool]string{true: "granted", false: "refused"}[ok], nil
			}
		}
		return "", err
	})
	s := newScheduler(t, lossy(program(setNX, idle)))
	ex := s.run(interleave.LoseAnswer(0), interleave.Run(0))
	require.Equal(t, []string{"1: lock = refused"}, results(ex.ops))
	require.Equal(t, []string{"1: SET lock mine ex 10 nx = OK (the answer is lost)",
		"1: SET lock mine ex 10 nx = (nil)"}, commands(ex))
}

// The answer to a blocking command can be lost as well. That the library then sends the command again is recorded.
func TestAWaitingClientThatTriesAgain(t *testing.T) {
	pops := does("q", func(ctx context.Context, r redis.UniversalClient) (got string, err error) {
		for range 2 {
			if all, err := r.BLPop(ctx, 0, "q").Result(); err == nil {
				return all[1], nil
			}
		}
		return "", err
	})
	s := newScheduler(t, lossy(program(pops, sends("RPUSH q a b"))))
	ex := s.run(interleave.Run(0), interleave.Run(1), interleave.LoseAnswer(0), interleave.Run(0))
	require.Equal(t, []string{"2: RPUSH q a b = 2", "1: q = b"}, results(ex.ops))
	require.Contains(t, ex.situations, harness.SentAgain)
}
