package drawing

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Sizes of a sequence diagram: x in percent, everything else in pixels.
const (
	maxLanes  = 8  // the largest number of clients that are drawn
	maxDrawn  = 60 // the largest number of lines that are drawn
	firstLane = 7.0
	laneGap   = 13.0
	redisLane = 94.0
	textEnd   = redisLane - 1.5
	slim      = 480  // width of the narrowest plot for which texts are laid out
	headHigh  = 28.0 // height of the names of the lanes
	lineHigh  = 30.0 // height of a line without arrows
	textHigh  = 16.0 // height of a row of text
	callAt    = 20   // distance from the top of a line to the arrow that goes to Redis; the command is above the arrow
	replyAt   = 41   // distance from the top of a line to the arrow that comes back; the reply is above the arrow
	beliefRow = 16
	tailHigh  = 24 // height of the space below the last line
	halfBar   = 5.0
	callHead  = "M-7,-3.5 L0,0 L-7,3.5"
	replyHead = "M14,-3.5 L7,0 L14,3.5"
	cross     = "M-6,-6 L6,6 M-6,6 L6,-6"
)

// Sequence draws a counterexample as a sequence diagram: a vertical line for each client and one for Redis, with time
// running downwards. All texts are in one column between the clients and Redis, where they cross no lane.
type Sequence struct {
	Drawing
	lines    []Line
	places   []rowPosition
	bars     []beliefBar
	key      string       // key of the anomaly
	overlaps []sharedHold // the times in which two clients held the lock, as the checker judged
	clients  int
	end      float64 // y position at which the lanes end
}

// rowPosition holds the y positions of a line of the counterexample: its borders, the arrow to Redis and the arrow
// back. In a line without arrows both arrows are at the middle.
type rowPosition struct{ top, call, reply, bottom float64 }

// Draw draws the first lines of a counterexample.
func (c Story) Draw() *Sequence {
	lines := c.Lines()
	l := &Sequence{lines: lines[:min(len(lines), maxDrawn)], clients: min(maxLanes, max(1, c.Clients))}
	l.Label = "sequence diagram of the " + units.Plural(int64(c.Length()), "step", "steps")
	l.Margin = 34
	l.arrange()
	l.placeBeliefs(c)
	l.placeOverlaps(c)
	l.drawOverlaps()
	l.lanes()
	l.drawBars()
	for i, one := range l.lines {
		l.draw(one, l.places[i])
	}
	return l
}

// Lines returns the number of lines that are drawn.
func (l *Sequence) Lines() int { return len(l.lines) }

// arrange computes the position of every line.
func (l *Sequence) arrange() {
	y := headHigh
	for _, one := range l.lines {
		p := l.flatPosition(y, one)
		if l.isExchange(one) {
			p = l.arrowedPosition(y, one)
		}
		l.places = append(l.places, p)
		y = p.bottom
	}
	l.end = y + tailHigh
	l.Height = int(l.end) + 4
}

// flatPosition returns the position of a line without arrows. Its text may take a second row.
func (l *Sequence) flatPosition(y float64, one Line) rowPosition {
	high := lineHigh
	if units.Letters(one.describeDeed())+units.Letters(one.Belief)+1 > l.room() {
		high += textHigh
	}
	return rowPosition{top: y, call: y + high/2, reply: y + high/2, bottom: y + high}
}

// arrowedPosition returns the position of a command and its reply.
func (l *Sequence) arrowedPosition(y float64, one Line) rowPosition {
	p := rowPosition{top: y, call: y + callAt, reply: y + replyAt}
	if one.Reply == "" {
		p.reply = p.call
	}
	p.bottom = p.reply + 7
	if one.Belief != "" && !l.fits(one) {
		p.bottom += beliefRow
	}
	return p
}

// isExchange reports whether a line is drawn as arrows between a client and Redis.
func (l *Sequence) isExchange(one Line) bool { return one.kind == asks && l.has(one.Client) }

func (l *Sequence) has(client int) bool { return client >= 0 && client < l.clients }

// fits reports whether the reply and the belief of a line fit side by side.
func (l *Sequence) fits(one Line) bool {
	return one.Reply != "" && units.Letters(one.Reply)+units.Letters(one.Belief)+2 <= l.room()
}

// lane returns the x position of a client's lane.
func (l *Sequence) lane(client int) float64 {
	gap := laneGap
	if l.clients > interleave.MaxExhaustive {
		gap = laneGap * (interleave.MaxExhaustive - 1) / float64(l.clients-1)
	}
	return firstLane + gap*float64(client)
}

// column returns the x position of the texts.
func (l *Sequence) column() float64 { return l.lane(l.clients-1) + 2.8 }

// room returns the number of letters that always fit into a row of the column.
func (l *Sequence) room() int { return int((textEnd - l.column()) / 100 * slim / letter) }

// y returns the position at which a step begins. For interleave.Never, and for a step that is not drawn, y returns the
// end of the lanes.
func (l *Sequence) y(step int) float64 {
	if step == interleave.Never || step >= len(l.places) {
		return l.end
	}
	return l.places[step].call
}

// lanes draws the lifelines with their names. A client's lifeline ends where the client crashes.
func (l *Sequence) lanes() {
	for c := range l.clients {
		end := l.end
		for i, one := range l.lines {
			if one.kind == dies && one.Client == c {
				end = l.places[i].call
			}
		}
		name := fmt.Sprint(c + 1)
		if l.clients <= interleave.MaxExhaustive {
			name = "client " + name
		}
		l.text("lane-name", l.lane(c), 15, "middle", name)
		l.line("lane", l.lane(c), headHigh-6, l.lane(c), end)
	}
	l.text("lane-name", redisLane, 15, "middle", "Redis")
	l.line("lane", redisLane, headHigh-6, redisLane, l.end)
}

// draw draws one line of the counterexample.
func (l *Sequence) draw(one Line, p rowPosition) {
	switch {
	case l.isExchange(one):
		l.exchange(one, p)
	case l.has(one.Client):
		l.localStep(one, p)
	default:
		class := "moves"
		if one.kind != world {
			class = "asked"
		}
		l.rect("world "+class, 0, 100, p.top+3, p.bottom-3, "")
		l.flow("world-name "+class, p, one)
	}
	l.side("row-name", p.call+4, one.Number)
}

// exchange draws a command and its reply.
func (l *Sequence) exchange(one Line, p rowPosition) {
	x := l.lane(one.Client)
	l.row("command-name", p.call, one.Command, "", "")
	l.line("ask", x, p.call, redisLane, p.call)
	l.mark("head", redisLane, p.call, callHead, "")
	beside, below := "", one.Belief
	if l.fits(one) {
		beside, below = one.Belief, ""
	}
	if one.Reply != "" {
		l.row("reply-name", p.reply, one.Reply, one.tailClass(), beside)
		l.line("answer", x, p.reply, redisLane, p.reply)
		l.mark("head", x, p.reply, replyHead, "")
	}
	if below != "" {
		l.row("", p.reply+beliefRow+2, "", one.tailClass(), below)
	}
	if one.Guilty {
		l.dot("guilty", x, p.reply, "one of the operations that make the violation")
	}
}

// row writes a row of the text column, just above y. It writes the parameter text, followed by the parameter tail,
// which has a class of its own.
func (l *Sequence) row(class string, y float64, text, tailClass, tail string) {
	l.words(class, l.column(), textEnd, y-textHigh-1, textHigh, text, tailClass, tail)
}

// flow writes the text of a line without arrows, in up to two rows.
func (l *Sequence) flow(class string, p rowPosition, one Line) {
	l.words("wrap "+class, l.column(), textEnd, p.top, p.bottom-p.top, one.describeDeed(), one.tailClass(), one.Belief)
}

// localStep draws a step that a client takes without Redis, or its crash, and joins it to the client's lane.
func (l *Sequence) localStep(one Line, p rowPosition) {
	l.line("lead", l.lane(one.Client), p.call, l.column()-0.8, p.call)
	class := "step-name"
	if one.kind == dies {
		class = "crash-name"
		l.mark("cross", l.lane(one.Client), p.call, cross, one.Who+" crashes")
	} else {
		l.dot("moment", l.lane(one.Client), p.call, "")
	}
	l.flow(class, p, one)
}

// tailClass returns the CSS class of the text that says what the client believes.
func (l Line) tailClass() string {
	if l.Guilty {
		return "belief guilty"
	}
	return "belief"
}

// describeDeed returns the text of a line without arrows.
func (l Line) describeDeed() string {
	s := l.Command
	if l.kind == probe {
		s = l.Who + ": " + s
	}
	if l.Reply != "" {
		s += " → " + l.Reply
	}
	return s
}
