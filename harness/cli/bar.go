package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

const (
	barWidth   = 20
	barEvery   = 200 * time.Millisecond // time between two drawings; a command that is over sooner shows no bar
	barMargin  = 32                     // columns that the bar, its percentage and its frame take
	barDefault = 80                     // columns of a terminal of unknown width

	perSearch = time.Second // the estimate for one of several searches, whose length is not known before
)

// screen is the standard error of all commands. On a terminal its last line can be a progress bar, which goes when something else
// is written.
type screen struct {
	out      io.Writer
	terminal bool

	mu  sync.Mutex
	bar *progressBar // nil: none
}

func newScreen(out io.Writer) *screen { return &screen{out: out, terminal: texttable.Terminal(out)} }

// Write takes the bar away and writes p, which has whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.out.Write(p)
}

// clear takes the bar off the terminal, if it is there. The caller holds mu.
func (s *screen) clear() {
	if s.bar != nil && s.bar.drawn {
		_ = s.bar.shown.Clear() // the terminal may be gone
		s.bar.drawn = false
	}
}

// progressBar shows the progress of a command in stages, each with an estimate of its length. A nil bar shows nothing.
type progressBar struct {
	screen *screen
	shown  *progressbar.ProgressBar
	most   string // the word before the time left: "about", or "at most" if the command may end sooner

	began, stageBegan time.Time
	total             time.Duration
	done, stage       time.Duration // sum of the estimates of earlier stages, and the estimate of this one
	detail            string
	drawn             bool
}

// startBar shows a bar for a command that takes about total, until stop is called. It does nothing unless standard error is a
// terminal, nor with JSON output.
func (a *app) startBar(total time.Duration, most string) (stop func()) {
	if !a.err.terminal || a.json || total <= 0 {
		return func() {}
	}
	b := &progressBar{screen: a.err, most: most, total: total, began: time.Now(), stageBegan: time.Now()}
	b.shown = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(a.err.out), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionUseANSICodes(true), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false)) // its time left is judged by the last seconds alone
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

// draw redraws the bar until over is closed.
func (b *progressBar) draw(over <-chan struct{}) {
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

// position returns how much of total the command has done. It never reaches total.
func (b *progressBar) position(now time.Time) time.Duration {
	return min(b.done+min(now.Sub(b.stageBegan), b.stage), b.total-1)
}

// text returns what stands beside the bar: the time left, judged by the progress so far, and the detail.
func (b *progressBar) text(at time.Duration, now time.Time) string {
	left := ""
	if at > 0 {
		d := time.Duration(float64(now.Sub(b.began)) / float64(at) * float64(b.total-at))
		left = fmt.Sprintf("%s %v left", b.most, d.Round(time.Second))
	}
	room := cmp.Or(texttable.Width(b.screen.out), barDefault) - barMargin - utf8.RuneCountInString(left) - 2
	if b.detail == "" || room <= 0 {
		return left
	}
	return left + "  " + clipAtComma(b.detail, room)
}

// clipAtComma shortens a text to at most n runes. It cuts before a comma if there is one, since half a number would be another number.
func clipAtComma(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	short := string(r[:n])
	if i := strings.LastIndex(short, ", "); i > 0 {
		return short[:i]
	}
	return short
}

// beginStage ends the stage before and begins the next, which takes about length.
func (s *screen) beginStage(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bar; b != nil {
		b.done, b.stage, b.stageBegan, b.detail = b.done+b.stage, length, time.Now(), ""
	}
}

// say sets the text beside the bar. It reports whether there is a bar.
func (s *screen) say(detail string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		return false
	}
	s.bar.detail = detail
	return true
}
