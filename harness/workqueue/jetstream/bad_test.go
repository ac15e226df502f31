package jetstream_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// oneLineWith checks that err wraps is, contains words, and is a single line.
func oneLineWith(t *testing.T, err error, is error, words string) {
	t.Helper()
	require.ErrorIs(t, err, is)
	require.ErrorContains(t, err, words)
	require.NotContains(t, err.Error(), "\n")
}

func TestAccessThatCannotBeRight(t *testing.T) {
	t.Parallel()
	s := served(t)
	for words, a := range map[string]jetstream.Access{
		"is not the URL of a NATS":               {URL: "127.0.0.1:4222"},
		`"http://x" is not the URL of a NATS`:    {URL: "http://x"},
		"refuses the token":                      {URL: s.Access.URL, Token: "canary-wrong"},
		"refuses the token or":                   {URL: s.Access.URL},
		"no-such-file":                           {URL: s.Access.URL, Credentials: "no-such-file"},
		"no-such-ca":                             {URL: s.Access.URL, CA: "no-such-ca"},
		`"nats//***@x" is not the URL of a NATS`: {URL: "nats//canary-user:canary-pass@x"},
	} {
		_, _, err := jetstream.Join(t.Context(), a, "main", "w")
		oneLineWith(t, err, jetstream.ErrAccess, words)
		require.NotContains(t, err.Error(), "canary")
	}
	_, _, err := jetstream.Join(t.Context(), s.Access, "a.b", "w")
	oneLineWith(t, err, jetstream.ErrAccess, `"a.b" cannot be the name of a coordination`)
}

func TestANATSThatNobodyReaches(t *testing.T) {
	t.Parallel()
	a := jetstream.Access{URL: "nats://canary-user:canary-pass@127.0.0.1:1", Token: "canary-token",
		Patience: 300 * time.Millisecond}
	var told []string
	a.Waiting = func(why string) { told = append(told, why) }
	_, _, err := jetstream.Join(t.Context(), a, "main", "w")
	oneLineWith(t, err, workqueue.ErrUnreachable, "gave up after 300ms")
	require.Len(t, told, 1)
	require.Contains(t, told[0], "cannot reach nats://***@127.0.0.1:1")
	require.NotContains(t, err.Error()+told[0], "canary")
}

func TestACoordinationThatHasNotBegun(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	a.Patience = 300 * time.Millisecond
	var told []string
	a.Waiting = func(why string) { told = append(told, why) }
	_, _, err := jetstream.Join(t.Context(), a, "main", "w")
	oneLineWith(t, err, jetstream.ErrNoCoordination, "no coordination called main exists there")
	require.Len(t, told, 1)
	require.Contains(t, told[0], "no coordination called main exists there: waiting for at most 300ms")
}

// A stream of something else with the name of ours is left alone.
func TestAStreamOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"KV_doublegrant-main", "OBJ_doublegrant-main", "DOUBLEGRANT_main"} {
		a := served(t).Access
		js := jetstream.RawOf(leadOf(t, a, "other", head, jetstream.Sizes{})).JS
		theirs := natsjs.StreamConfig{Name: name, Subjects: []string{"theirs.>"}}
		_, err := js.CreateStream(t.Context(), theirs)
		require.NoError(t, err)
		_, _, err = jetstream.Lead(t.Context(), a, "main", "coordinator", head, jetstream.Sizes{})
		oneLineWith(t, err, jetstream.ErrOther,
			"the stream "+name+" on this NATS server belongs to another program or an older doublegrant: choose "+
				"another --name")
		s, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, theirs.Subjects, s.CachedInfo().Config.Subjects)
	}
}

// A coordinator or worker of another version refuses a coordination, and its error names both versions.
func TestACoordinationOfAnotherFormat(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q := lead(t, a, jetstream.Sizes{})
	_, err := jetstream.RawOf(q).Keys.PutString(t.Context(), "head", `{"format":99,"program":"v99"}`)
	require.NoError(t, err)
	_, _, err = jetstream.Join(t.Context(), a, "main", "w")
	oneLineWith(t, err, jetstream.ErrOther, "main has format 99, and this program reads 3: use the coordinator's "+
		"version")
	q.Close()
	_, _, err = jetstream.Lead(t.Context(), a, "main", "coordinator", head, jetstream.Sizes{})
	oneLineWith(t, err, jetstream.ErrOther, "doublegrant v99 began it, and this is v1")
}

// If the store cannot be written, the coordinator stops waiting, though the store can still be read.
func TestAStoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := served(t)
	q := lead(t, s.Access, jetstream.Sizes{})
	require.NoError(t, q.Put(t.Context(), workqueue.Unit{Kind: "x"}))
	waited := make(chan error, 1)
	go func() {
		_, err := q.Await(t.Context(), workqueue.Unit{Kind: "x"}.ID())
		waited <- err
	}()
	s.Log("[ACC > OBJ] Critical write error: write /x/1.blk: no space left on device")
	oneLineWith(t, <-waited, workqueue.ErrFull,
		"write /x/1.blk: no space left on device: free some space, and run the same command again")
}

func TestTwoCoordinatorsOfOneName(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	first, _, err := jetstream.Lead(t.Context(), a, "main", "first", head, jetstream.Sizes{})
	require.NoError(t, err)
	_, _, err = jetstream.Lead(t.Context(), a, "main", "second", head, jetstream.Sizes{})
	oneLineWith(t, err, jetstream.ErrTaken, "main, by first: wait for its end, or choose another --name")
	other, _, err := jetstream.Lead(t.Context(), a, "other", "second", head, jetstream.Sizes{})
	require.NoError(t, err)
	other.Close()
	require.NoError(t, first.Put(t.Context(), workqueue.Unit{Kind: "x"}), "the first goes on")
	first.Close()
	third, _, err := jetstream.Lead(t.Context(), a, "main", "third", head, jetstream.Sizes{})
	require.NoError(t, err, "it has ended")
	third.Close()
}

func TestACoordinatorGoesOnWithItsOwnWorkOnly(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	was := head
	was.Task, was.Seed = []byte(`{"a":1}`), 7
	q, _, err := jetstream.Lead(t.Context(), a, "main", "first", was, jetstream.Sizes{})
	require.NoError(t, err)
	q.Close()
	for words, change := range map[string]func(*jetstream.Head){
		"doublegrant v1 began it, and this is v2": func(h *jetstream.Head) { h.Program = "v2" },
		"of kind test, and this is other":         func(h *jetstream.Head) { h.Kind = "other" },
		"begun on Redis 7, and this is Redis 8":   func(h *jetstream.Head) { h.Server = "Redis 8" },
		"its files or flags differ":               func(h *jetstream.Head) { h.Task = []byte(`{"a":2}`) },
	} {
		now := was
		change(&now)
		_, _, err := jetstream.Lead(t.Context(), a, "main", "second", now, jetstream.Sizes{})
		oneLineWith(t, err, jetstream.ErrOther, words)
	}
	now := was
	now.Seed = 8
	q, begun, err := jetstream.Lead(t.Context(), a, "main", "second", now, jetstream.Sizes{})
	require.NoError(t, err)
	require.EqualValues(t, 7, begun.Seed, "the seed of then")
	q.Close()
}

func TestAFullObjectStore(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q, worker := lead(t, a, jetstream.Sizes{MostStored: 1 << 20}), join(t, a, "worker")
	large := make([]byte, 2<<20)
	err := q.Put(t.Context(), workqueue.Unit{Kind: "x", Body: large})
	oneLineWith(t, err, workqueue.ErrFull, "put a unit")
	u := workqueue.Unit{Kind: "x", Body: []byte("small")}
	require.NoError(t, q.Put(t.Context(), u), "what has room goes on")
	told := make(chan error, workqueue.Tries)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		_ = workqueue.Worker{
			Do: func(context.Context, workqueue.Unit) (workqueue.Result, error) {
				return workqueue.Result{Body: large}, nil
			},
			End: func(_ workqueue.Unit, _ time.Duration, err error) { told <- err },
		}.Work(ctx, worker, "worker")
	}()
	o := outcome(t, q, u)
	require.True(t, o.GivenUp())
	require.Contains(t, o.Why(), "the work queue is full: keep a result")
	require.NoError(t, q.End(ctx))
	for range workqueue.Tries {
		oneLineWith(t, <-told, workqueue.ErrFull, "keep a result")
	}
}

// TestANATSThatGoesAway restarts a NATS at the same address with its data: everything goes on.
func TestANATSThatGoesAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	q, worker := lead(t, s.Access, jetstream.Sizes{}), join(t, s.Access, "worker")
	u := workqueue.Unit{Kind: "x"}
	require.NoError(t, q.Put(t.Context(), u))
	job := one(t, worker)
	require.NoError(t, s.Stop())
	ended := make(chan error, 1)
	go func() { ended <- job.Done(t.Context(), workqueue.Result{Body: []byte("r")}) }()
	s, err = jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop()) }()
	require.NoError(t, <-ended)
	require.Equal(t, "r", string(outcome(t, q, u).Body))
}

// TestSecretsAreKept looks for the token in all files that a server leaves in its folder, except the token's own.
func TestSecretsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, lead(t, s.Access, jetstream.Sizes{}).Put(t.Context(), workqueue.Unit{Kind: "x"}))
	require.NoError(t, s.Stop())
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		text, readErr := os.ReadFile(path)
		if filepath.Base(path) == jetstream.TokenFile {
			require.Equal(t, os.FileMode(0o600), info.Mode(), path)
			return nil
		}
		require.False(t, strings.Contains(string(text), s.Access.Token), path)
		return errors.Join(err, readErr)
	}))
}
