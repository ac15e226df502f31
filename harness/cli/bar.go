package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

const (
	barWidth   = 20
	barEvery   = 200 * time.Millisecond // time between redraws; a command that ends before the first one has no bar
	barMargin  = 32                     // number of columns for the bar, its percentage and its frame
	barDefault = 80                     // assumed columns of a terminal of unknown width

	perSearch = time.Second // estimated length of one of several searches: the real length is unknown
)

// screen is the standard error of all commands. On a terminal, its last line can be a progress bar. Other output
// removes the bar until it is redrawn.
type screen struct {
	out      io.Writer
	terminal bool
	ascii    bool // whether the locale lacks UTF-8

	mu  sync.Mutex
	bar *progressBar // the bar, if one is shown; nil: none
}

func newScreen(out io.Writer) *screen {
	terminal := texttable.Terminal(out)
	return &screen{out: out, terminal: terminal, ascii: wantsASCII(terminal, os.Getenv)}
}

// Write removes the bar and then writes p. Callers write whole lines, so that the next redraw of the bar begins on an
// empty line.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.ascii {
		return asciiWriter{s.out}.Write(p)
	}
	return s.out.Write(p)
}

// clear removes the bar from the terminal, if it was drawn. The caller holds mu.
func (s *screen) clear() {
	if s.bar != nil && s.bar.drawn {
		_ = s.bar.shown.Clear() // the terminal may be gone
		s.bar.drawn = false
	}
}

// progressBar shows the progress of a command in stages, each of an estimated length. A nil bar shows nothing.
type progressBar struct {
	screen *screen
	shown  *progressbar.ProgressBar
	prefix string // precedes the remaining time: "about", or "at most" if the command may end sooner

	began, stageBegan time.Time
	total             time.Duration
	done, stage       time.Duration // estimated length of all earlier stages together, and of the current stage
	detail            string
	drawn             bool
}

// startBar shows a bar until stop is called. total is the estimated length of the command. prefix precedes the
// remaining time. Without a terminal that is wide enough, or with JSON output, startBar does nothing.
func (a *app) startBar(total time.Duration, prefix string) (stop func()) {
	if !a.err.terminal || a.json || total <= 0 || tooNarrow(texttable.Width(a.err.out)) {
		return func() {}
	}
	b := &progressBar{screen: a.err, prefix: prefix, total: total, began: time.Now(), stageBegan: time.Now()}
	b.shown = progressbar.NewOptions64(int64(total), progressbar.OptionSetWriter(a.err.out),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionUseANSICodes(true), progressbar.OptionShowDescriptionAtLineEnd(),
		// its own estimates look at the last seconds only
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	if !unicodeLocale(os.Getenv) {
		progressbar.OptionSetTheme(progressbar.ThemeASCII)(b.shown)
	}
	a.err.mu.Lock()
	a.err.bar = b
	a.err.mu.Unlock()
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		b.draw(stopped)
	}()
	return sync.OnceFunc(func() {
		close(stopped)
		<-ended
		a.err.mu.Lock()
		defer a.err.mu.Unlock()
		a.err.clear()
		a.err.bar = nil
	})
}

// tooNarrow reports whether a bar would need more than one line of a terminal with width columns (0: unknown). Only a
// bar of one line can be removed again.
func tooNarrow(width int) bool { return width > 0 && width < barMargin+len("  at most 1m59s left") }

// draw redraws the bar every barEvery until the channel stopped is closed.
func (b *progressBar) draw(stopped <-chan struct{}) {
	tick := time.NewTicker(barEvery)
	defer tick.Stop()
	for {
		select {
		case <-stopped:
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

// position returns how much of the command's estimated length is done. The result is always less than the
// whole, since the command is still running.
func (b *progressBar) position(now time.Time) time.Duration {
	return min(b.done+min(now.Sub(b.stageBegan), b.stage), b.total-1)
}

// text returns the text beside the bar: the remaining time and the detail. The remaining time is extrapolated from the
// parameter done, the part of the estimated length that is done.
func (b *progressBar) text(done time.Duration, now time.Time) string {
	remaining := ""
	if done > 0 {
		d := time.Duration(float64(now.Sub(b.began)) / float64(done) * float64(b.total-done))
		remaining = fmt.Sprintf("%s %v left", b.prefix, d.Round(time.Second))
	}
	room := cmp.Or(texttable.Width(b.screen.out), barDefault) - barMargin - utf8.RuneCountInString(remaining) - 2
	if b.detail == "" || room <= 0 {
		return remaining
	}
	return remaining + "  " + clipAtComma(b.detail, room)
}

// clipAtComma shortens a text to at most n runes. It cuts before a comma if there is one, since a cut inside a number
// would show another number.
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

// beginStage ends the bar's current stage and begins the next. length is the estimate for the next stage.
func (s *screen) beginStage(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bar; b != nil {
		b.done, b.stage, b.stageBegan, b.detail = b.done+b.stage, length, time.Now(), ""
	}
}

// say sets the detail beside the bar, and reports whether there is a bar. Without a bar it does nothing.
func (s *screen) say(detail string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		return false
	}
	s.bar.detail = detail
	return true
}
