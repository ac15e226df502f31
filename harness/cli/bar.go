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
	barEvery   = 200 * time.Millisecond // time between two redraws; a shorter command shows no bar
	barMargin  = 32                     // columns for the bar, its percentage and its frame
	barDefault = 80                     // assumed columns of a terminal of unknown width

	perSearch = time.Second // estimate for one of several searches, whose real length is unknown
)

// screen is the standard error of all commands. On a terminal, its last line can be a progress bar. Other output
// removes the bar until it is redrawn.
type screen struct {
	out      io.Writer
	terminal bool
	ascii    bool // the locale has no UTF-8

	mu  sync.Mutex
	bar *progressBar // nil: none
}

func newScreen(out io.Writer) *screen {
	terminal := texttable.Terminal(out)
	return &screen{out: out, terminal: terminal, ascii: wantsASCII(terminal, os.Getenv)}
}

// Write removes the bar and writes p. Callers write whole lines, so that the bar can begin a new one.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.ascii {
		return asciiWriter{s.out}.Write(p)
	}
	return s.out.Write(p)
}

// clear removes the bar from the terminal, if it is there. The caller holds mu.
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
	most   string // the word before the remaining time: "about", or "at most" if the command may end sooner

	began, stageBegan time.Time
	total             time.Duration
	done, stage       time.Duration // total estimate of earlier stages, and the estimate of this one
	detail            string
	drawn             bool
}

// startBar shows a bar until stop is called. total is the estimated length of the command, and most the word before the
// remaining time. Without a terminal, or with JSON output, startBar does nothing.
func (a *app) startBar(total time.Duration, most string) (stop func()) {
	if !a.err.terminal || a.json || total <= 0 || tooNarrow(texttable.Width(a.err.out)) {
		return func() {}
	}
	b := &progressBar{screen: a.err, most: most, total: total, began: time.Now(), stageBegan: time.Now()}
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

// tooNarrow reports whether a bar would take more than one line of the terminal, so that it could not be removed.
func tooNarrow(width int) bool { return width > 0 && width < barMargin+len("  at most 1m59s left") }

// draw redraws the bar until stopped is closed.
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

// position returns how much of total is done. It never reaches total.
func (b *progressBar) position(now time.Time) time.Duration {
	return min(b.done+min(now.Sub(b.stageBegan), b.stage), b.total-1)
}

// text returns the text beside the bar: the remaining time, extrapolated from the progress so far, and the detail.
func (b *progressBar) text(at time.Duration, now time.Time) string {
	remaining := ""
	if at > 0 {
		d := time.Duration(float64(now.Sub(b.began)) / float64(at) * float64(b.total-at))
		remaining = fmt.Sprintf("%s %v left", b.most, d.Round(time.Second))
	}
	room := cmp.Or(texttable.Width(b.screen.out), barDefault) - barMargin - utf8.RuneCountInString(remaining) - 2
	if b.detail == "" || room <= 0 {
		return remaining
	}
	return remaining + "  " + clipAtComma(b.detail, room)
}

// clipAtComma shortens a text to at most n runes. If it can, it cuts before a comma, since half of a number would be a
// different number.
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

// beginStage ends the current stage and begins the next, of the estimated length.
func (s *screen) beginStage(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bar; b != nil {
		b.done, b.stage, b.stageBegan, b.detail = b.done+b.stage, length, time.Now(), ""
	}
}

// say sets the text beside the bar, and reports whether there is a bar.
func (s *screen) say(detail string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar == nil {
		return false
	}
	s.bar.detail = detail
	return true
}
