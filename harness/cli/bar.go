package cli

import (
	"cmp"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

const (
	barWidth   = 20
	barEvery   = 200 * time.Millisecond // a command that is over sooner shows no bar
	barMargin  = 32                     // columns that the bar, its percentage and its frame take
	barDefault = 80                     // columns of a terminal that does not say how wide it is

	perSearch = time.Second // stands for one of several searches: how long one takes is not known before
)

// screen is standard error, as all commands write to it. On a terminal its last line can be a progress bar, which makes
// way for whatever else is written.
type screen struct {
	out      io.Writer
	terminal bool

	mu  sync.Mutex
	bar *bar // nil: none
}

func newScreen(out io.Writer) *screen { return &screen{out: out, terminal: texttable.Terminal(out)} }

// Write writes whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(p)
}

// clear takes the bar off the terminal, if it is there. The caller holds mu.
func (s *screen) clear() {
	if s.bar != nil && s.bar.drawn {
		_ = s.bar.shown.Clear() // a terminal that is gone is nobody's concern
		s.bar.drawn = false
	}
}

// bar shows how far a command is whose length is about known: in stages, each with an estimate. A nil bar shows nothing.
type bar struct {
	screen *screen
	shown  *progressbar.ProgressBar
	most   string // before the time left: "about", or "at most" if the command may end at any time

	began, stageBegan time.Time
	total             time.Duration
	done, stage       time.Duration // the estimates of the stages before, and of this one
	detail            string
	drawn             bool
}

// startBar shows a bar of a command that takes about so long, until stop is called: on a terminal only, and not beside
// JSON. It returns nil and a stop that does nothing elsewhere.
func (a *app) startBar(total time.Duration, most string) (stop func()) {
	if !a.err.terminal || a.json || total <= 0 {
		return func() {}
	}
	b := &bar{screen: a.err, most: most, total: total, began: time.Now(), stageBegan: time.Now()}
	b.shown = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(a.err.out), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionUseANSICodes(true), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false)) // whose time left is of the last seconds alone
	a.err.mu.Lock()
	a.err.bar = b
	a.err.mu.Unlock()
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.draw(over)
	}()
	return sync.OnceFunc(func() {
		close(over)
		<-ended
		a.err.mu.Lock()
		defer a.err.mu.Unlock()
		a.err.clear()
		a.err.bar = nil
	})
}

// draw draws the bar again and again until over is closed.
func (b *bar) draw(over <-chan struct{}) {
	tick := time.NewTicker(barEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-tick.C:
			b.screen.mu.Lock()
			at := b.position(now)
			_ = b.shown.Set64(int64(at))
			b.shown.Describe(b.text(at, now))
			b.drawn = true
			b.screen.mu.Unlock()
		}
	}
}

// position is how far the command is, as a part of total. It never comes to its end by itself.
func (b *bar) position(now time.Time) time.Duration {
	return min(b.done+min(now.Sub(b.stageBegan), b.stage), b.total-1)
}

// text is what stands beside the bar: the time left, by how far the command came in the time it took, and the detail.
func (b *bar) text(at time.Duration, now time.Time) string {
	left := ""
	if at > 0 {
		d := time.Duration(float64(now.Sub(b.began)) / float64(at) * float64(b.total-at))
		left = fmt.Sprintf("%s %v left", b.most, d.Round(time.Second))
	}
	room := cmp.Or(texttable.Width(b.screen.out), barDefault) - barMargin - utf8.RuneCountInString(left) - 2
	if b.detail == "" || room <= 0 {
		return left
	}
	if detail := []rune(b.detail); len(detail) > room {
		return left + "  " + string(detail[:room])
	}
	return left + "  " + b.detail
}

// beginStage begins the next stage, which takes about so long; what was before it is over.
func (s *screen) beginStage(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bar; b != nil {
		b.done, b.stage, b.stageBegan, b.detail = b.done+b.stage, length, time.Now(), ""
	}
}

// say sets what stands beside the bar. It reports whether there is one.
func (s *screen) say(detail string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		return false
	}
	s.bar.detail = detail
	return true
}
