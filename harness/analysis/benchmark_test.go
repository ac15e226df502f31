package analysis

import (
	"fmt"
	"testing"

	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// BenchmarkFailovers has 1,000 operations for each failover. The time for one failover should not grow with the number
// of failovers.
func BenchmarkFailovers(b *testing.B) {
	for _, n := range []int{10, 100, 400} {
		h := analysistest.Kills(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if found := Failovers(h); len(found) != n {
					b.Fatal(len(found))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/failover")
		})
	}
}
