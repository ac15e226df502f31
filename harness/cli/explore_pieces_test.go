package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// cameTo returns a search's result without times and texts that name the machine's folders.
func cameTo(t *testing.T, text string) (res interleave.Result) {
	t.Helper()
	var d struct {
		Result interleave.Result `json:"result"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &d), text)
	d.Result.First, d.Result.Elapsed = 0, 0
	return d.Result
}

func TestASavedSearchGoesOnToTheSame(t *testing.T) {
	t.Parallel()
	goesOn(t, "explore lock/setnx-expire --clients 2", "--max-schedules=1", "--max-schedules=64")
}

func TestLongASavedSearchGoesOnToTheSame(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	for i, c := range []struct{ search, first, then string }{
		{"explore lock/setnx-expire", "--max-schedules=1", "--max-schedules=64"},
		{"explore lib/redislock --clients 2 --workers 1", "--max-schedules=1", "--max-schedules=64"},
		{"explore lock/watch-multi --random 300 --clients 5 --seed 3", "--for=20ms", "--for=64ms"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { goesOn(t, c.search, c.first, c.then) })
	}
}

// goesOn runs a search whole, and again in parts. Both have to give the same result. The limits first and then end the
// first two parts, and a kill ends the third.
func goesOn(t *testing.T, line, first, then string) {
	t.Helper()
	p, search := newPlace(t), strings.Fields(line)
	whole, errs, code := p.command(append(search, "-o", "json")...)
	require.Less(t, code, cli.ExitFailed, errs)

	out, errs, _ := p.command(append(search, "--save", "saved", first)...)
	require.Contains(t, out, "saved: saved; to continue: doublegrant explore --resume saved", errs)
	_, errs, code = p.command("explore", "--resume", "saved", then)
	require.Less(t, code, cli.ExitFailed, errs)
	saved := filepath.Join(p.dir, "saved")
	before, err := results.ReadSearch(saved)
	require.NoError(t, err)

	killed := start(t, "explore", "--resume", saved)
	killed.await(func() bool { return len(killed.servers()) > 0 }, "a server")
	require.NoError(t, killed.Process.Signal(syscall.SIGKILL))
	killed.exitCode()
	killed.awaitServers(0)
	after, err := results.ReadSearch(saved)
	require.NoError(t, err)
	require.GreaterOrEqual(t, after.Checkpoint.Schedules(), before.Checkpoint.Schedules(),
		"nothing that was written is lost")

	resumed, errs, _ := p.command("explore", "--resume", "saved", "-o", "json")
	require.Equal(t, cameTo(t, whole), cameTo(t, resumed), errs)
	again, errs, _ := p.command("explore", "--resume", "saved")
	require.Contains(t, again, "saved: saved; the search is complete", errs)
}

// awaitWorkers waits for the servers of two workers and of the search itself.
func (p process) awaitWorkers() {
	p.Helper()
	p.await(func() bool { return len(p.servers()) == 3 }, "two workers")
}

func TestLongWorkersComeToTheSameAsOne(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	const least = 10000
	search := []string{"explore", "lock/getset-deadline", "--clients", "2", "--crashes", "0", "--lost-answers", "1",
		"--unpruned", "--for", "0", "-o", "json"}
	here := newPlace(t)
	plain, errs, _ := here.command(search...)
	one, errs1, _ := here.command(append(search, "--workers", "1")...)
	require.Equal(t, cameTo(t, plain), cameTo(t, one),
		"where no states are compared the counts are those of a search that is not in pieces: %s%s", errs, errs1)
	require.Greater(t, cameTo(t, one).Schedules, least, "or it was one piece or two")
	two, errs, _ := here.command(append(search, "--workers", "2")...)
	require.Equal(t, cameTo(t, one), cameTo(t, two), errs)
}

// A search gives the same result with any number of workers, for a script and for an adapter. Each worker starts the
// adapter itself.
func TestWorkersComeToTheSameOfYourOwn(t *testing.T) {
	t.Parallel()
	sameByWorkers(t, "explore -o json --script take.lua --as lock --release give.lua --args {owner} --args {ttl_ms} "+
		"--lost-answers 1",
		cli.ExitInvalid, 2000)
}

func TestLongWorkersComeToTheSameOfAProgram(t *testing.T) {
	testenv.NeedLong(t)
	pythonWithRedis(t)
	sameByWorkers(t, "explore -o json --as lock --clients 2 --expiries 0 -- "+python+" "+
		filepath.Join(clients, "lock.py"), cli.ExitMet, 110)
}

// sameByWorkers requires that one and two workers end a search with the same result and this exit code. The search must
// have more than least schedules, so that it takes more than one piece. It has no limit of time: on a busy machine the
// usual one ends it after its first piece.
func sameByWorkers(t *testing.T, search string, code, least int) {
	t.Helper()
	p := newPlace(t)
	p.write("take.lua", "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 else return 0 end")
	p.write("give.lua", "return redis.call('del', KEYS[1])")
	var came []interleave.Result
	for _, workers := range []string{"--workers=1", "--workers=2"} {
		out, _ := p.ends(code, strings.Fields(strings.Replace(search, "-o", workers+" --for 0 -o", 1))...)
		came = append(came, cameTo(t, out))
	}
	require.Equal(t, came[0], came[1])
	require.Empty(t, came[0].Stopped)
	require.Greater(t, came[0].Schedules, least, "or it was one piece")
}

func TestWorkersEndWithTheirProcess(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGKILL, os.Interrupt} {
		p := start(t, "explore", "lock/watch-multi", "--clients", "5", "--random", "100000", "--workers", "2")
		p.awaitWorkers()
		require.NoError(t, p.Process.Signal(signal))
		p.exitCode()
		p.awaitServers(0)
	}
}
