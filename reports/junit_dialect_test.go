package reports

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/tally"
)

// jenkins lists the elements that we write, with their attributes, required attributes and children as junit-10.xsd of
// Jenkins's xUnit plugin allows them.
var jenkins = map[string]struct{ attributes, required, children string }{
	"testsuites": {"name time tests failures errors", "", "testsuite"},
	"testsuite": {"name tests failures errors group time skipped timestamp hostname id package file log url",
		"name tests failures errors", "testsuite properties testcase system-out system-err"},
	"testcase": {"name time classname group", "name", "skipped error failure system-out system-err"},
	"failure":  {"type message", "", ""}, "error": {"type message", "", ""}, "skipped": {"type message", "", ""},
	"system-out": {"", "", ""},
}

// jenkinsTime is the pattern of a suite's time in junit-10.xsd.
var jenkinsTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// element is any XML element.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// requireDialects checks a junit.xml against Jenkins's schema and against GitLab's documentation of unit test reports.
// GitLab shows a test only if its name differs from the others, and as its reason only the element's text.
func requireDialects(t *testing.T, text string) {
	t.Helper()
	var root element
	require.NoError(t, xml.Unmarshal([]byte(text), &root))
	require.Equal(t, "testsuites", root.XMLName.Local)
	requireJenkins(t, root)
	for _, suite := range root.Children {
		require.Regexp(t, jenkinsTime, suite.attr("time"))
		requireGitLab(t, suite)
	}
}

func requireJenkins(t *testing.T, e element) {
	t.Helper()
	allowed, known := jenkins[e.XMLName.Local]
	require.True(t, known, e.XMLName.Local)
	for _, a := range e.Attrs {
		require.Contains(t, strings.Fields(allowed.attributes), a.Name.Local, e.XMLName.Local)
	}
	for _, name := range strings.Fields(allowed.required) {
		require.True(t, slices.ContainsFunc(e.Attrs, func(a xml.Attr) bool { return a.Name.Local == name }), name)
	}
	for _, c := range e.Children {
		require.Contains(t, strings.Fields(allowed.children), c.XMLName.Local, e.XMLName.Local)
		requireJenkins(t, c)
	}
}

func requireGitLab(t *testing.T, suite element) {
	t.Helper()
	seen, counts := map[string]bool{}, map[string]int{}
	for _, c := range suite.Children {
		require.Equal(t, "testcase", c.XMLName.Local)
		name := c.attr("classname") + " " + c.attr("name")
		require.False(t, seen[name], "GitLab shows only the first of the tests %q", name)
		seen[name] = true
		require.NotEmpty(t, c.attr("classname"), "GitLab shows it as the suite's name")
		_, err := strconv.ParseFloat(c.attr("time"), 64)
		require.NoError(t, err)
		counts["tests"]++
		for _, part := range c.Children {
			counts[part.XMLName.Local]++
			require.NotEmpty(t, strings.TrimSpace(part.Text), "GitLab shows the text of %s", part.XMLName.Local)
		}
	}
	for attribute, n := range map[string]int{"tests": counts["tests"], "failures": counts["failure"],
		"errors": counts["error"], "skipped": counts["skipped"]} {
		if value := suite.attr(attribute); n > 0 || value != "" {
			require.Equal(t, strconv.Itoa(n), value, attribute)
		}
	}
}

func TestJUnitIsReadByJenkinsAndGitLab(t *testing.T) {
	for _, r := range demos(t) {
		requireDialects(t, textOf(t, func(w io.Writer, r Report) error {
			return JUnit(w, r.Name, []Row{RowOf(r, ReportFile)})
		}, r))
	}
	for _, e := range searches() {
		requireDialects(t, textOf(t, func(w io.Writer, e Exploration) error {
			return JUnit(w, e.title(), []Row{e.Row(ReportFile)})
		}, e))
	}
	s := suiteWith(tally.Met, tally.NotMet, tally.Undecided, tally.Failed, tally.NotRun)
	s.Ended = "interrupted"
	requireDialects(t, textOf(t, SuiteJUnit, s))
	requireDialects(t, textOf(t, SuiteJUnit, mergedSuite()))
}
