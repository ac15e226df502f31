package cli

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/trackrecord"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/reports/schemas"
	"github.com/doublegrant/doublegrant/workloads"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

func TestWhatCommandsPrintAsJSONMeetsItsSchema(t *testing.T) {
	t.Chdir(Source) // from there the schemas find the comments of our types
	printed := func(args ...string) []byte {
		var out bytes.Buffer
		Main(append([]string{"-o", "json"}, args...), &out, io.Discard)
		return out.Bytes()
	}
	schemas.Hold[listing](t, "catalogue", printed("list"), printed("list", "kill-primary"))
	schemas.Hold[built](t, "version", printed("version"))
	schemas.Hold[examination](t, "doctor", printed("doctor"), printed("doctor", "--redis-server", "/none"))
	schemas.Hold[listedExperiments](t, "experiments", printed("reproduce"))
	schemas.Hold[listedSuites](t, "suites", printed("suite", "--list"))
	schemas.Hold[failure](t, "error", printed("check", "none"))

	written := func(document any) []byte {
		var out bytes.Buffer
		require.NoError(t, reports.WriteJSON(&out, document))
		return out.Bytes()
	}
	schemas.Hold[reproductions](t, "reproductions", written(reproductions{reports.HeadOf("reproductions"),
		[]reports.Reproduction{{Shape: reports.Matches}}}))
	schemas.Hold[everyRegime](t, "explorations", written(everyRegime{Head: reports.HeadOf("explorations"),
		Verdict: harness.Valid, Regimes: []reports.ExplorationDocument{}}))
	schemas.Hold[replayed](t, "replay", written(replayed{Head: reports.HeadOf("replay")}))
	schemas.Hold[listedBugs](t, "bugs", printed("bugs"))
	schemas.Hold[shownBugs](t, "bug-reproductions", written(shownBugs{Head: reports.HeadOf("bug-reproductions"),
		Bugs: []trackrecord.Outcome{{Bug: bugs.Bug{Run: map[string]any{}}, Ending: trackrecord.Refuted}}}))
	inFolder := filepath.Join(t.TempDir(), "mine")
	schemas.Hold[skeletonWritten](t, "skeleton", printed("init", "lua", inFolder))
	schemas.Hold[manWritten](t, "man-pages", printed("man", t.TempDir()))
	schemas.Hold[adapterCheck](t, "adapter-check", written(adapterCheck{Head: reports.HeadOf("adapter-check"),
		Steps: []adapterStep{{Step: "it starts"}}, Adapter: &workloads.Adapter{}}))
}
