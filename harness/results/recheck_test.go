package results_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
)

// checkedText judges a text of the model, and keeps its reports in a folder of the test.
func checkedText(t *testing.T, ctx context.Context, r io.Reader, m results.Model) (reports.Report, error) {
	t.Helper()
	rep, _, err := results.CheckText(ctx, results.Text{From: r, Name: "text", Model: m}, t.TempDir())
	return rep, err
}

func TestARunThatWasCutShortIsNeverValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		plan       plan.Plan
		whole, cut harness.Verdict
	}{
		{plan.Plan{Variant: "sequence/incr", Clients: 20, Rate: gentle, Duration: time.Second}, harness.Valid,
			harness.Unknown},
		// It repeats a number at the 79th call, long before what is cut.
		{plan.Plan{Variant: "sequence/string-compare-hash", Clients: 20, Rate: gentle, Duration: 3 * time.Second},
			harness.Invalid, harness.Invalid},
	} {
		out := execute(t, c.plan)
		require.Equal(t, c.whole, out.Report.Judged.Verdict)
		for _, name := range []string{"ops-000001.seg", "run.seg"} {
			path := filepath.Join(out.Dir, "history", name)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, info.Size()-1))
			again, err := results.Recheck(t.Context(), out.Dir)
			require.NoError(t, err)
			require.Equal(t, c.cut, again.Report.Judged.Verdict, "%s without the end of %s", c.plan.Variant, name)
			require.Nil(t, again.Report.History.End)
		}
	}
}

func TestARunIsJudgedTheSameAsText(t *testing.T) {
	t.Parallel()
	for variant, m := range map[string]results.Model{
		"lock/set-nx-px": results.LockModel, "dedup/get-set-lua": results.DedupModel,
		"dedup/get-set":                results.DedupModel,
		"sequence/string-compare-hash": results.SequenceModel, "writes/sadd": results.WritesModel,
	} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			out := execute(t, plan.Plan{Variant: variant, Clients: 20, Rate: gentle, Duration: time.Second})
			h, err := results.OpenHistory(out.Dir)
			require.NoError(t, err)
			var text bytes.Buffer
			require.NoError(t, history.Print(&text, h))
			rep, err := checkedText(t, t.Context(), &text, m)
			require.NoError(t, err)
			mine := rep.Judged.Judgements[0]
			require.Equal(t, out.Report.Judged.Judgements[0], mine)
			require.NotEqual(t, harness.Unknown, mine.Verdict)
		})
	}
}

// Times in milliseconds beside leases in nanoseconds make any lock look broken.
func TestTimesThatAreHardlyNanosecondsAreDoubted(t *testing.T) {
	for unit, doubted := range map[time.Duration]bool{time.Millisecond: false, 1: true} {
		var text bytes.Buffer
		for i := range 200 {
			at := time.Duration(i) * unit
			fmt.Fprintf(&text, `{"client":%d,"kind":"acquire","key":"k","arg":"t%d","ttl":2000000000,"call":%d,"return":%d,"outcome":"fail"}`+"\n", i%5, i%5, at, at)
		}
		rep, err := checkedText(t, t.Context(), &text, results.LockModel)
		require.NoError(t, err)
		require.Equal(t, doubted, len(rep.Notes) == 1, rep.Notes)
		if doubted {
			require.Equal(t, "200 operations within 199ns are more than any Redis can do: check that all times are "+
				"in nanoseconds",
				rep.Notes[0])
		}
	}
}

func TestAHistoryThatNeverEndsCanBeInterrupted(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error)
	go func() {
		_, err := checkedText(t, ctx, r, results.LockModel)
		ended <- err
	}()
	_, err := w.Write([]byte(`{"meta":{}}` + "\n")) // the other end reads
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// If a history has confirms, one under way may explain a second claim, even if the first line lists no confirms.
func TestCheckTextWaitsForConfirms(t *testing.T) {
	const (
		firsts = `{"client":0,"kind":"claim","key":"m","result":"first","ttl":1000,"call":0,"return":10,"outcome":"ok"}` + "\n" +
			`{"client":2,"kind":"claim","key":"m","result":"first","ttl":1000,"call":200,"return":210,"outcome":"ok"}` +
			"\n"
		confirm = `{"client":3,"kind":"confirm","key":"m","ttl":100,"call":50,"return":400,"outcome":"ok"}` + "\n"
		other   = `{"client":4,"kind":"confirm","key":"n","ttl":100,"call":50,"return":400,"outcome":"fail"}` + "\n"
	)
	for _, c := range []struct {
		text    string
		invalid bool
	}{
		{firsts + confirm, false},
		{`{"meta":{"kinds":["claim"]}}` + "\n" + firsts + confirm, false},
		{`{"meta":{"kinds":["claim","confirm"]}}` + "\n" + firsts + confirm, false},
		{`{"cut":"killed"}` + "\n" + firsts + other, false},
		{`{"cut":"killed"}` + "\n" + firsts, true},
		{firsts + other, true},
		{firsts, true},
	} {
		rep, err := checkedText(t, t.Context(), strings.NewReader(c.text), results.DedupModel)
		require.NoError(t, err)
		require.Equal(t, c.invalid, rep.Judged.Verdict == harness.Invalid, "%s%s", c.text, rep.Judged.Summary())
	}
}

// A confirm by client -1 still explains a second claim after thousands of operations of the workers.
func TestCheckTextWaitsForConfirmsOfTheHarness(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"meta":{"workers":2}}` + "\n")
	write := func(client int, kind, key, result string, ttl, call, ret int) {
		fmt.Fprintf(&b, `{"client":%d,"kind":%q,"key":%q,"result":%q,"ttl":%d,"call":%d,"return":%d,"outcome":"ok"}`+
			"\n",
			client, kind, key, result, ttl, call, ret)
	}
	write(0, "claim", "m", "first", 1_000_000, 0, 10)
	write(1, "claim", "m", "first", 1_000_000, 200, 210)
	for i := range 4096 {
		write(i%2, "claim", "n", "seen", 1000, 1000+10*i, 1005+10*i)
	}
	write(-1, "confirm", "m", "", 100, 50, 50_000)
	rep, err := checkedText(t, t.Context(), strings.NewReader(b.String()), results.DedupModel)
	require.NoError(t, err)
	require.NotEqual(t, harness.Invalid, rep.Judged.Verdict, rep.Judged.Summary())
}

// A new client may be the worker of an earlier one whose release is executed late. The number of workers tells.
func TestCheckTextAsksWhoANewClientIs(t *testing.T) {
	const text = `{"client":0,"kind":"acquire","key":"l","arg":"a","ttl":1000,"call":0,"return":10,"outcome":"ok"}` +
		"\n" +
		`{"client":0,"kind":"release","key":"l","arg":"a","call":20,"return":30,"outcome":"info"}` + "\n" +
		`{"client":5,"kind":"acquire","key":"l","arg":"a","ttl":1000,"call":40,"return":50,"outcome":"ok"}` + "\n" +
		`{"client":1,"kind":"acquire","key":"l","arg":"b","ttl":1000,"call":60,"return":70,"outcome":"ok"}` + "\n"
	for workers, invalid := range map[int]bool{5: false, 6: true} {
		rep, err := checkedText(t, t.Context(),
			strings.NewReader(fmt.Sprintf(`{"meta":{"workers":%d}}`+"\n"+text, workers)), results.LockModel)
		require.NoError(t, err)
		require.Equal(t, invalid, rep.Judged.Verdict == harness.Invalid, "%d workers: %s", workers,
			rep.Judged.Summary())
	}
}

func TestAnotherProgramsHistoryIsJudged(t *testing.T) {
	op := func(client, kind, key, arg, result, times string) string {
		return `{"client":` + client + `,"kind":"` + kind + `","key":"` + key + `","arg":"` + arg + `","result":"` +
			result + `",` + times + `}`
	}
	const first, meets, later = `"call":1,"return":5,"outcome":"ok"`, `"call":2,"return":6,"outcome":"ok"`,
		`"call":7,"return":9,"outcome":"ok"`
	const refused = `"call":2,"return":6,"outcome":"fail","err":"held"`
	for name, c := range map[string]struct {
		model results.Model
		lines []string
		want  harness.Verdict
	}{
		"two owners": {results.LockModel,
			[]string{op("1", "acquire", "l", "a", "", first), op("2", "acquire", "l", "b", "", meets)},
			harness.Invalid},
		"one owner": {results.LockModel,
			[]string{op("1", "acquire", "l", "a", "", first), op("2", "acquire", "l", "b", "", refused)},
			harness.Valid},
		"a token that falls": {results.LockModel,
			[]string{op("1", "acquire", "l", "a", "7", first), op("2", "acquire", "m", "b", "7", meets),
				op("1", "release", "l", "a", "", later),
				op("2", "acquire", "l", "b", "6", `"call":10,"return":11,"outcome":"ok"`)}, harness.Invalid},
		"first twice": {results.DedupModel,
			[]string{op("1", "claim", "m", "", "first", first), op("2", "claim", "m", "", "first", meets)},
			harness.Invalid},
		"once": {results.DedupModel,
			[]string{op("1", "claim", "m", "", "first", first), op("2", "claim", "m", "", "seen", meets)},
			harness.Valid},
		"a number twice": {results.SequenceModel,
			[]string{op("1", "next", "s", "", "4", first), op("2", "next", "s", "", "4", meets)}, harness.Invalid},
		"two numbers": {results.SequenceModel,
			[]string{op("1", "next", "s", "", "5", first), op("2", "next", "s", "", "4", meets)}, harness.Valid},
		"a lost write": {results.WritesModel,
			[]string{op("1", "add", "w", "4", "", first), op("-1", "read", "w", "", "5", later)}, harness.Invalid},
		"a kept write": {results.WritesModel,
			[]string{op("1", "add", "w", "4", "", first), op("-1", "read", "w", "", "4", later)}, harness.Valid},
		"refused there, cut": {results.WritesModel,
			[]string{`{"cut":"x"}`, op("0", "add", "w", "1", "", first), op("1", "add", "w", "2", "", refused),
				op("-1", "read", "w", "", "1-2", later)}, harness.Unknown},
		"a lost write, cut": {results.WritesModel,
			[]string{`{"cut":"x"}`, op("1", "add", "w", "4", "", first), op("-1", "read", "w", "", "5", later)},
			harness.Invalid},
		"only a part": {results.SequenceModel,
			[]string{`{"meta":{},"cut":"killed"}`, op("1", "next", "s", "", "5", first),
				op("2", "next", "s", "", "4", meets)}, harness.Unknown},
	} {
		rep, err := checkedText(t, t.Context(), strings.NewReader(strings.Join(c.lines, "\n")), c.model)
		require.NoError(t, err, name)
		require.Equal(t, c.want, rep.Judged.Verdict, "%s: %s", name, rep.Judged.Summary())
	}
}
