package granttest

import "strings"

// inFields replaces flags of doublegrant explore by the corresponding fields of Search.
var inFields = strings.NewReplacer(
	"--for ", "Search.For ", "--clients ", "Search.Clients ", "--crashes 0", "Search.Crashes -1", "--expiries 0",
	"Search.Expiries -1", "--failovers ", "Search.Failovers ",
	"--flushes ", "Search.Flushes ", "--lost-answers 0", "Search.LostAnswers -1", "--lost-commands 0",
	"Search.LostCommands -1",
	"--late 0", "Search.Late -1",
)

// limitsText lists, one per line, what a search did not cover.
func limitsText(limits []string) string {
	var b strings.Builder
	for _, limit := range limits {
		b.WriteString("\n  not covered: " + inFields.Replace(limit))
	}
	return b.String()
}
