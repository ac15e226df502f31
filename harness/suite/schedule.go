package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// scheduleFormat and scheduleVersion are at the head of every file of a counterexample.
const (
	scheduleFormat  = "doublegrant schedule"
	scheduleVersion = 1
)

// schedule is the file of a counterexample.
type schedule struct {
	Format         string                    `json:"format"`
	Version        int                       `json:"version"`
	Search         Search                    `json:"search"`
	Counterexample interleave.Counterexample `json:"counterexample"`
}

func writeSchedule(path string, s Search, v workloads.Variant, c interleave.Counterexample) error {
	s.Variant = v.ID
	return reports.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(schedule{scheduleFormat, scheduleVersion, s, c})
	})
}

// readSchedule reads the file of a counterexample. variant, if it is not empty, has to be the file's.
func readSchedule(path, variant string) (f schedule, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return f, usage("%w", err)
	}
	err = json.Unmarshal(b, &f)
	switch {
	case f.Format != scheduleFormat:
		return f, usage("%s is no schedule of doublegrant: explore leaves them in the folder %s of its results", path, anomaliesDir)
	case f.Version != scheduleVersion:
		return f, usage("%s has version %d of the format, this program reads version %d: explore again", path, f.Version, scheduleVersion)
	case err != nil:
		return f, usage("%s: %w", path, err)
	case variant != "" && variant != f.Search.Variant:
		return f, usage("%s is a schedule of %s, not of %s", path, f.Search.Variant, variant)
	}
	return f, nil
}

// Replayed is what came of a replay.
type Replayed struct {
	Variant        string                    `json:"variant"`
	Times          int                       `json:"times"` // as often as asked for, each time the same
	Counterexample interleave.Counterexample `json:"counterexample"`
}

// Replay runs the counterexample in a file again, times times. The error wraps explore.ErrDiverged if it went another way
// than the file says, and ErrUsage if the file is of no use.
func Replay(ctx context.Context, path, variant string, times int, o Options) (Replayed, error) {
	if times < 1 {
		return Replayed{}, usage("%d replays: ask for 1 or more", times)
	}
	f, err := readSchedule(path, variant)
	if err != nil {
		return Replayed{}, err
	}
	_, spec, err := f.Search.resolve(o)
	if err != nil {
		return Replayed{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := explore.Replay(ctx, spec, f.Counterexample, times); err != nil {
		if errors.Is(err, explore.ErrDiverged) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return Replayed{}, asUsage(err)
	}
	return Replayed{f.Search.Variant, times, f.Counterexample}, nil
}
