package granttest

import (
	"path/filepath"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/reports"
)

// writeSearchReport writes the report of a search if the artifacts flag is set.
func (s subject) writeSearchReport(t TB, p parameters, res interleave.Result, began time.Time) {
	t.Helper()
	if *artifactsDir == "" {
		return
	}
	name := "search"
	if res.Random != nil {
		name += "-at-random"
	}
	if len(s.regimes) > 1 {
		name += "-" + string(p.Regime)
	}
	labels := map[string]string{}
	if p.Regime != "" {
		labels["regime"] = string(p.Regime)
	}
	dir := filepath.Join(testDir(*artifactsDir, t.Name()), name)
	logWritten(t, dir, reports.WriteExploration(dir, reports.Exploration{
		Name: s.name, Variant: s.name, Command: commandToRepeat(t.Name()), Labels: labels, Result: res,
		Started:  began,
		Versions: reports.Versions(serverVersion()), Replay: replayCommand(t),
	}))
}

// writeLoadReport writes the report of a load if the artifacts flag is set.
func (s subject) writeLoadReport(t TB, res harness.Result) {
	t.Helper()
	if *artifactsDir == "" {
		return
	}
	dir := filepath.Join(testDir(*artifactsDir, t.Name()), "load")
	r, err := reports.New(res.History, res.Judged)
	if err == nil {
		r.Command, r.Notes = commandToRepeat(t.Name()), res.Notes
		err = reports.Write(dir, r)
	}
	logWritten(t, dir, err)
}

// logWritten logs the report's path, or fails the test if the report could not be written.
func logWritten(t TB, dir string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("granttest: cannot write the report: %v", err)
		return
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	t.Logf("report: %s", filepath.Join(dir, reports.ReportFile))
}
