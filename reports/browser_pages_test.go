package reports

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// site writes a page of every kind into a folder, with the files that they link to, and returns the folder.
func site(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out := os.Getenv("REPORT_OUT"); out != "" {
		dir = out
	}
	var rows []Row
	write := func(name string, page func(io.Writer) error) {
		require.NoError(t, WriteFile(filepath.Join(dir, name), page))
	}
	for name, r := range demos(t) {
		require.NoError(t, Write(filepath.Join(dir, name), r))
		rows = append(rows, RowOf(r, name+"/report.html"))
	}
	for name, e := range searches() {
		require.NoError(t, WriteExploration(filepath.Join(dir, "explore-"+name), e))
		rows = append(rows, e.Row("explore-"+name+"/report.html"))
		for _, file := range e.Files {
			if !strings.ContainsRune(file, ':') {
				write(filepath.Join("explore-"+name, file), func(w io.Writer) error { return nil })
			}
		}
	}
	write("index.html", func(w io.Writer) error { return Index(w, rows) })
	write("rich/anomalies/0.html", func(w io.Writer) error {
		h := demos(t)["rich"].History
		return checkers.WritePage(w, doubleGrant("lock:4", sec), h.Meta, h.Faults)
	})
	for name, s := range map[string]tally.Suite{"suite": nightly(),
		"merged": mergedSuite(), "hostile-suite": hostileSuite()} {
		require.NoError(t, WriteSuite(filepath.Join(dir, name), s))
		for _, shard := range s.Shards {
			write(filepath.Join(name, filepath.Base(shard.Folder), IndexFile), func(w io.Writer) error { return nil })
		}
	}
	compared := numbering()
	for i := range compared {
		compared[i].Link = "../" + compared[i].Link
	}
	require.NoError(t, WriteComparison(filepath.Join(dir, "comparison"), Rank(compared)))
	write("reproduction/report.html", func(w io.Writer) error { return ReproductionHTML(w, split()) })
	write("reproduction/a/report.html", func(w io.Writer) error { return nil })
	return dir
}

// kinds lists a page of each kind, and the name of the pictures of it.
var kinds = []struct{ name, file string }{
	{"run", "rich/report.html"},
	{"failover", "ten/report.html"},
	{"search", "explore-race/report.html"},
	{"walk", "explore-failover/report.html"},
	{"suite", "suite/index.html"},
	{"comparison", "comparison/index.html"},
	{"reproduction", "reproduction/report.html"},
	{"index", "index.html"},
	{"porcupine", "rich/anomalies/0.html"},
	{"hostile-run", "hostile/report.html"},
	{"hostile-search", "explore-evil/report.html"},
	{"hostile-suite", "hostile-suite/index.html"},
}

// look is how a reader sees a page.
type look struct {
	scheme string
	width  int64 // CSS pixels
}

var looks = []look{{"light", 400}, {"light", 1400}, {"dark", 400}, {"dark", 1400}}

func (l look) String() string { return fmt.Sprintf("%s-%d", l.scheme, l.width) }

func TestPagesInABrowser(t *testing.T) {
	b := startBrowser(t)
	dir := site(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			x := b.open(t, filepath.Join(dir, k.file))
			for i, look := range looks {
				if strings.HasPrefix(k.name, "hostile") && i%3 != 0 {
					continue // long texts take long to look at
				}
				x.media("screen", look.scheme)
				x.size(look.width)
				x.canBeRead(look.String())
				x.shoot(k.name + "-" + look.String())
			}
			x.namesAllControls()
			x.leadsTo(filepath.Dir(filepath.Join(dir, k.file)))
			x.canBeUsedByKeyboard()
			leftOut := ".aside" // it follows the steps
			if strings.HasPrefix(k.name, "hostile") {
				leftOut += ", .words" // pictures have no room for such texts, which the tables have
			}
			x.printsEverything(leftOut)
			require.Empty(t, x.problemsSoFar())
		})
	}
}

// canBeRead checks colours and sizes.
func (x *tab) canBeRead(how string) {
	x.Helper()
	type contrast struct {
		Texts int
		Bad   []string
	}
	got := run[contrast](x, "look.contrast()")
	require.Empty(x, got.Bad, "%s: texts with too little contrast", how)
	require.Greater(x, got.Texts, 5, how)
	require.Empty(x, run[[]string](x, "look.keys()"), "%s: marks of a legend that cannot be told from the ground", how)
	require.Empty(x, run[[]string](x, "look.wide()"), "%s: the page scrolls sideways", how)
	require.Empty(x, run[[]string](x, "look.outside()"), "%s: what does not fit", how)
}

// namesAllControls checks that the browser has a name for every control and picture to read aloud.
func (x *tab) namesAllControls() {
	x.Helper()
	do(x, accessibility.Enable, cdp.Empty{})
	tree, err := chromedp.Call(x.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(x, err)
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		switch role := strings.Trim(string(n.Role.Value), `"`); role {
		case "link", "radio", "button", "image", "DisclosureTriangle", "heading":
			require.True(x, n.Name != nil && len(strings.Trim(string(n.Name.Value), `"`)) > 0, "a %s without a name", role)
		}
	}
}

// refused is what html/template writes in place of a link that it does not trust.
const refused = "#ZgotmplZ"

// leadsTo checks that every link leads to a file.
func (x *tab) leadsTo(dir string) {
	x.Helper()
	for _, link := range run[[]string](x, "look.links()") {
		if link != refused {
			require.FileExists(x, filepath.Join(dir, link))
		}
	}
}

// focus is what has the keyboard's focus.
type focus struct {
	Name, Tag, Type, Href string
	Open, Ring            bool
}

// canBeUsedByKeyboard goes through the page by Tab and uses everything by Enter and the arrow keys.
func (x *tab) canBeUsedByKeyboard() {
	x.Helper()
	require.Empty(x, run[[]string](x, "look.unreachable()"), "what no key reaches")
	stops, met := run[int](x, "look.stops()"), 0
	for at := x.next(); at.Name != ""; at = x.next() {
		met++
		require.LessOrEqual(x, met, stops+50, "Tab comes to no end")
		require.True(x, at.Ring, "one does not see that %s has the focus", at.Name)
		switch {
		case at.Tag == "a":
			x.press(kb.Enter)
			require.Equal(x, at.Href, run[string](x, "look.followed.at(-1)"))
		case at.Tag == "summary":
			x.press(kb.Enter)
			require.NotEqual(x, at.Open, x.focused().Open, "Enter opens or closes %s", at.Name)
			x.press(kb.Enter)
		case at.Type == "radio":
			x.walk(strings.TrimSuffix(at.Name, "-0"))
		}
	}
	require.GreaterOrEqual(x, met, stops, "stops of Tab")
}

// next presses Tab and returns what has the focus then. At the end of the page nothing has.
func (x *tab) next() focus {
	x.Helper()
	x.press(kb.Tab)
	return x.focused()
}

func (x *tab) focused() focus {
	x.Helper()
	return run[focus](x, "look.focused()")
}

// walk goes through the steps of a counterexample by the arrow key.
func (x *tab) walk(id string) {
	x.Helper()
	type step struct {
		Shown  int
		Number string
		Veil   float64
		Bright []string
	}
	veil := 0.0
	for n := 1; ; n++ {
		x.press(kb.ArrowRight)
		s := run[step](x, fmt.Sprintf("look.step(%q)", id))
		require.Equal(x, 1, s.Shown, "one state is shown beside the picture")
		if s.Number == "" { // all steps again
			require.Greater(x, n, 2)
			require.Equal(x, []string{"all"}, s.Bright)
			return
		}
		require.Equal(x, []string{s.Number}, s.Bright)
		require.Greater(x, s.Veil, veil, "the veil goes down")
		veil = s.Veil
	}
}

// printsEverything checks that paper has what the screen has, on A4 with margins of 1 cm. leftOut is a CSS selector of
// what paper may lack.
func (x *tab) printsEverything(leftOut string) {
	x.Helper()
	x.media("print", "light")
	x.size(718)
	require.Empty(x, run[[]string](x, fmt.Sprintf("look.cut(%q)", leftOut)), "what paper lacks")
	require.Empty(x, run[[]string](x, "look.wide()"))
	paper, err := chromedp.Run(x.ctx, chromedp.PrintToPDF())
	require.NoError(x, err)
	require.Greater(x, len(paper), 5000)
}

// hostileSuite is a suite in which every text from outside tries to break out of its place.
func hostileSuite() tally.Suite {
	const evil = `</title><script>alert(1)</script>"><img src=x onerror=alert(2)>{{.Name}}${alert(3)}` + "\u202e"
	s := suiteWith(tally.Met, tally.NotMet)
	s.Name, s.Ended, s.Version, s.Servers = evil, evil, evil, map[string]string{evil: evil}
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Name, c.Expected, c.Last.Found, c.Last.Why = evil, evil, evil, evil
		for j := range c.Failures {
			c.Failures[j].Why, c.Failures[j].Command, c.Failures[j].Name = evil, evil, evil
			c.Failures[j].Link = "javascript:alert(4)"
		}
	}
	return s
}
