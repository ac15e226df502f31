package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/workloads"
)

// TryScript loads a script into a Redis of its own and tries it once, so that a broken script is reported before a run
// begins. It returns the id of the script's variant, and a remark if the script's answers are suspicious; empty: they
// are not. The error wraps plan.ErrUsage if the script is at fault.
func TryScript(ctx context.Context, s workloads.Script, o Options) (id, odd string, err error) {
	v, err := workloads.ScriptVariant(s)
	if err != nil {
		return "", "", plan.Usagef("%w", err)
	}
	c := cluster.Standalone(cluster.Options{RedisServer: o.Redis})
	if err := c.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)); err != nil {
		return "", "", err
	}
	r, err := c.Connect(0)
	if err == nil {
		err = asUsage(s.Load(ctx, r))
	}
	answer := ""
	if err == nil {
		answer, err = s.Constant(ctx, r)
	}
	if answer != "" {
		odd = fmt.Sprintf("%s answered %s to two callers in a row, where only one %s: it may always answer the same",
			v.ID, units.Clip(answer, 40), exclusive[s.As])
	}
	return v.ID, odd, errors.Join(err, c.Stop())
}

// exclusive says, for each family of scripts, what only one caller may be granted. The texts follow the words "only
// one".
var exclusive = map[workloads.Family]string{
	workloads.Lock: "can own the lock", workloads.Dedup: "can be the first", workloads.Sequence: "can draw that number",
}

// keepScript returns the script, with the paths of files that have its texts. If a text is in no file, keepScript
// writes the texts into dir.
func keepScript(s *workloads.Script, dir string) (*workloads.Script, error) {
	if !plan.Inline(s) {
		return s, nil
	}
	kept := *s
	kept.File = filepath.Join(dir, plan.FileName(s.Name)+".lua")
	if err := os.WriteFile(kept.File, []byte(s.Source), 0o644); err != nil {
		return s, err
	}
	if s.Release == "" {
		return &kept, nil
	}
	kept.ReleaseFile = filepath.Join(dir, plan.FileName(s.Name)+"-release.lua")
	return &kept, os.WriteFile(kept.ReleaseFile, []byte(s.Release), 0o644)
}
