package drawing

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Memory draws resident memory over time, under load and between runs. It returns nil if there are too few samples.
func Memory(m tally.Memory, elapsed time.Duration) *Drawing {
	const enough = 10
	if len(m.Load.All) < enough {
		return nil
	}
	f := newFrame("resident memory of the harness in MiB", 0, max(elapsed, m.Load.All[len(m.Load.All)-1].At), 140, nil)
	f.timeAxis("")
	y := f.linear(f.top, f.bottom, units.MiB(m.Max), 4)
	path := ""
	for i, s := range m.Load.All {
		path += map[bool]string{true: "M", false: "L"}[i == 0] + point(10*f.x(s.At), y(units.MiB(s.RSS)))
	}
	f.path("curve p50", path)
	for _, s := range m.Runs.All {
		f.dot("between", f.x(s.At), y(units.MiB(s.RSS)), units.Duration(s.At)+": "+units.Size(s.RSS))
	}
	return &f.Drawing
}
