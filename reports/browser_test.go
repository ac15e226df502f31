package reports

import (
	"context"
	_ "embed"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	devpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
)

// lookScript runs in a page and measures how the page looks.
//
//go:embed testdata/look.js
var lookScript string

// trap makes a page complain on the console if a script from one of its texts runs and opens a dialog or a window.
const trap = `for (const name of ['alert', 'confirm', 'prompt', 'open'])
	globalThis[name] = () => console.error(name + ' was called')`

// browser is a Chromium without a network.
type browser struct{ ctx context.Context }

// startBrowser starts a Chromium with a profile of its own. It and its profile are gone when the test ends. If the
// test's process dies, the kernel ends the Chromium.
func startBrowser(t *testing.T) browser {
	t.Helper()
	path := testenv.Browser(t)
	home, err := os.MkdirTemp("", "doublegrant-browser-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	t.Setenv("TMPDIR", home) // chromedp makes the profile there, the browser its own temporary files
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.ProxyServer("127.0.0.1:9"), chromedp.Flag("disable-crash-reporter", true),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home))
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(func() {
		defer cancel()
		ending, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		require.NoError(t, chromedp.Cancel(ending))
	})
	require.NoError(t, chromedp.Do(ctx))
	return browser{ctx}
}

// tab is one page in a browser.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	asked    []string // URLs of all requests
	problems []string // errors and warnings of the console
}

// open opens a file in a tab, which is closed when the test ends.
func (b browser) open(t *testing.T, file string) *tab {
	t.Helper()
	x := &tab{T: t}
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	x.ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Listen(x.ctx, x.note))
	go x.listen(chromedp.Console(x.ctx))
	do(x, devpage.AddScriptToEvaluateOnNewDocument, devpage.AddScriptToEvaluateOnNewDocumentParams{Source: trap})
	address := url.URL{Scheme: "file", Path: file}
	require.NoError(t, chromedp.Do(x.ctx, chromedp.Navigate(address.String())))
	require.Empty(t, x.problemsSoFar())
	require.Equal(t, []string{address.String()}, x.asked, "a page needs no other file and no network")
	run[any](x, lookScript+"; 0")
	return x
}

// note records requests.
func (x *tab) note(event any) {
	if e, ok := event.(*network.EventRequestWillBeSent); ok {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.asked = append(x.asked, e.Request.URL)
	}
}

// listen records what a console shows.
func (x *tab) listen(console func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range console {
		if err != nil {
			return
		}
		x.mu.Lock()
		x.problems = append(x.problems, m.String())
		x.mu.Unlock()
	}
}

func (x *tab) problemsSoFar() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.problems
}

// do sends a command of the DevTools protocol.
func do[P, R any](x *tab, command cdp.Command[P, R], params P) {
	x.Helper()
	_, err := chromedp.Call(x.ctx, command, params)
	require.NoError(x, err)
}

// run evaluates an expression in the page.
func run[T any](x *tab, expression string) T {
	x.Helper()
	got, err := chromedp.Run(x.ctx, chromedp.Evaluate[T](expression))
	require.NoError(x, err, expression)
	return got
}

// size sets the width of the page in CSS pixels. The page is as high as its content, so that all of it is in view.
func (x *tab) size(width int64) {
	x.Helper()
	require.NoError(x, chromedp.Do(x.ctx, chromedp.EmulateViewport(width, 900)))
	high := run[int64](x, "document.documentElement.scrollHeight")
	require.NoError(x, chromedp.Do(x.ctx, chromedp.EmulateViewport(width, min(16000, high))))
}

// media shows the page on a medium, "screen" or "print", in the colour scheme "light" or "dark".
func (x *tab) media(medium, scheme string) {
	x.Helper()
	do(x, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// press presses keys one after the other.
func (x *tab) press(keys string) {
	x.Helper()
	require.NoError(x, chromedp.Do(x.ctx, chromedp.KeyEvent(keys)))
}

// shoot writes a picture of the page into the folder $REPORT_OUT, if that is set.
func (x *tab) shoot(name string) {
	x.Helper()
	if out := os.Getenv("REPORT_OUT"); out != "" {
		picture, err := chromedp.Run(x.ctx, chromedp.CaptureScreenshot())
		require.NoError(x, err)
		require.NoError(x, os.WriteFile(filepath.Join(out, name+".png"), picture, 0o644))
	}
}
