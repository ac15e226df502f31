package harness

import "context"

// TB is the part of testing.TB that Test needs.
type TB interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Test runs spec inside a test and fails the test unless the verdict is Valid. It logs the seed, and returns the result
// for further checks.
func Test(t TB, spec Spec) Result {
	t.Helper()
	res, err := Run(t.Context(), spec)
	t.Logf("%s: seed %d: %s", res.Meta.Name, res.Meta.Seed, res.Summary())
	for _, note := range res.Notes {
		t.Logf("note: %s", note)
	}
	if err != nil {
		t.Fatalf("the harness failed: %v", err)
	}
	if res.Verdict == Valid {
		return res
	}
	t.Errorf("%s is not what it promises: %s", res.Meta.Name, res.Summary())
	for i, a := range res.Anomalies {
		if i == 3 {
			t.Logf("... and more")
			break
		}
		t.Logf("%s: %s", a.Class, a.Note)
	}
	return res
}
