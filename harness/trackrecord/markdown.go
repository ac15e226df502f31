package trackrecord

import (
	"fmt"
	"io"
	"strings"

	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// Markdown writes a report on which the library's maintainers can act: versions, what happens, a program in the
// library's own language, the steps, what the documentation promises, and a suggestion.
func Markdown(w io.Writer, out Outcome) error {
	b := out.Bug
	var t strings.Builder
	fmt.Fprintf(&t, "# %s %s: %s\n\n%s\n\n", b.Library, b.Shown.Version, b.Class, b.Happens)
	fmt.Fprintf(&t, "- **When:** %s\n- **Where:** %s\n- **Promised by:** %s\n", b.Conditions, b.Where, b.Promise)
	if b.Fixed != "" {
		fmt.Fprintf(&t, "- **Fixed in:** %s %s\n", b.Fixed, b.FixedOn)
	}
	fmt.Fprintf(&t, "- **Known as:** %s\n", b.Upstream)
	if b.Upstream.Searched != "" {
		fmt.Fprintf(&t, "- **Searched:** %s\n", b.Upstream.Searched)
	}
	if b.Suggestion != "" {
		fmt.Fprintf(&t, "- **Suggestion:** %s\n", b.Suggestion)
	}
	fmt.Fprintf(&t, "- **Shown by:** `doublegrant reproduce %s`: %s\n\n", b.Name(), out.Line())
	name, text, err := b.Example()
	if err != nil {
		return err
	}
	fmt.Fprintf(&t, "## A program\n\n`%s`, with %s:\n\n```%s\n%s```\n\n", name, versions(b),
		strings.ToLower(b.Language), text)
	if _, err := io.WriteString(w, t.String()); err != nil || out.Shown.Search.Name == "" {
		return err
	}
	return reports.IssueMarkdown(w, out.Shown.Search)
}

// versions lists the versions that are pinned to show the bug.
func versions(b bugs.Bug) string {
	var all []string
	for _, v := range pinned(b, b.Shown) {
		all = append(all, v.Name+" "+v.Version)
	}
	return strings.Join(all, ", ")
}
