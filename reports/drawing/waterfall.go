package drawing

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
)

const stageHeight = 24

// Waterfall draws the stages of one failover, each in a separate row, with their times since the fault.
func Waterfall(f analysis.Failover) Drawing {
	from, to, end := axisSpan(f)
	c := newFrame("the stages of the failover", from, to, 0, nil)
	c.Margin = 148
	previous := time.Duration(0)
	for _, s := range f.Stages {
		c.stage(s, previous, end)
		if s.Seen && s.Name != analysis.Writable {
			previous = s.After
		}
	}
	for _, cost := range f.Costs() {
		c.cost(cost, f.Start)
	}
	c.timeAxis("")
	zero := c.x(0)
	c.line("zero", zero, c.top, zero, c.bottom)
	c.Height = int(c.bottom) + axisHeight
	return c.Drawing
}

// axisSpan returns the beginning and the end of the time axis (from and to). Bars are cut off at the third result
// (end), so that one late stage does not make the others too small. All times count from the fault.
func axisSpan(f analysis.Failover) (from, to, end time.Duration) {
	late := time.Duration(0)
	for _, s := range f.Stages {
		if s.Seen && s.Name == analysis.Rejoined {
			late = s.After
		} else if s.Seen {
			end = max(end, s.After)
		}
	}
	for _, c := range f.Costs() {
		from, end = min(from, c.From-f.Start), max(end, c.To-f.Start)
	}
	end = max(end, 10*time.Millisecond)
	switch {
	case late > 4*end:
		end *= 2
	case late > end:
		end = late
	}
	return from - end/50, end + end*2/5, end
}

func (c *frame) stage(s analysis.Stage, previous, end time.Duration) {
	y := c.bottom
	c.bottom += stageHeight
	c.side("row-name", y+16, string(s.Name))
	if !s.Seen {
		c.text("missing", c.x(0)+1, y+16, "start", "not seen: "+units.Clip(s.Note, 60))
		return
	}
	until := min(s.After, end)
	if until > previous {
		c.rect("stage", c.x(previous), c.x(until), y+5, y+stageHeight-5, "")
	}
	text := units.Duration(s.After)
	if s.After > end {
		text = "→ " + text
	} else {
		c.dot("stage-dot", c.x(until), y+stageHeight/2, string(s.Name)+" at "+units.At(s.At))
	}
	if plain := s.Name.Plain(); plain != "" {
		text += " · " + plain
	}
	if s.SeenBy != "" {
		text += " · " + units.Clip(s.SeenBy, 16)
	}
	c.text("stage-name", c.x(until)+1.2, y+16, "start", text)
}

func (c *frame) cost(of analysis.Cost, start time.Duration) {
	y := c.bottom
	c.bottom += stageHeight
	from, to := of.From-start, of.To-start
	c.sideWrapped("row-name", y+16, of.Name)
	c.rect("outage", c.x(from), c.x(to), y+5, y+stageHeight-5,
		fmt.Sprintf("from %s to %s", units.At(of.From), units.At(of.To)))
	c.text("stage-name strong", c.x(to)+1.2, y+16, "start", of.Took)
}
