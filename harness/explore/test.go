package explore

import (
	"cmp"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// testFor bounds the search of Test if spec.For is 0. It is less than the time that go test gives a package.
const testFor = 5 * time.Minute

// Test searches spec inside a test, for at most five minutes if spec.For is 0. The test fails unless every schedule was
// run without a violation. It logs the counterexamples and returns the result for further checks.
func Test(t harness.TB, spec Spec) interleave.Result {
	t.Helper()
	spec.For = cmp.Or(spec.For, testFor)
	res, err := Search(t.Context(), spec)
	if err != nil {
		t.Fatalf("the explorer failed: %v", err)
	}
	t.Logf("%s: %s", spec.Program.Name, res.Summary())
	for _, c := range res.Counterexamples {
		t.Errorf("%s in %d steps: %s\n%s", c.Anomaly.Class, c.Length(), c.Anomaly.Note, c.Text())
	}
	if len(res.Counterexamples) == 0 && !res.Exhausted {
		t.Errorf("no verdict on %s: %s", spec.Program.Name, res.Stopped)
	}
	return res
}
