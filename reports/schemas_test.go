package reports

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports/schemas"
)

func TestDocumentsMeetTheirSchemas(t *testing.T) {
	var runs, explorations [][]byte
	for _, r := range demos(t) {
		runs = append(runs, []byte(textOf(t, JSON, r)))
	}
	for name, e := range searches() {
		if name != "evil" { // its choices have no names
			explorations = append(explorations, []byte(textOf(t, ExplorationJSON, e)))
		}
	}
	schemas.Hold[Document](t, string(KindRun), append(runs, []byte(textOf(t, JSON, Report{})))...)
	schemas.Hold[ExplorationDocument](t, string(KindExploration), explorations...)
	schemas.Hold[ReproductionDocument](t, string(KindReproduction), []byte(textOf(t, ReproductionJSON, split())))
	schemas.Hold[SuiteDocument](t, string(KindSuite), []byte(textOf(t, SuiteJSON, mergedSuite())),
		[]byte(textOf(t, SuiteJSON, suiteWith(tally.Met, tally.NotMet, tally.NotRun))))
	schemas.Hold[Comparison](t, string(KindComparison), []byte(textOf(t, WriteJSON, any(ComparisonOf(nil)))),
		[]byte(textOf(t, WriteJSON, any(ComparisonOf([]Row{RowOf(demos(t)["rich"], "x")})))))
}
