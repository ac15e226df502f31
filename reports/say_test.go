package reports

import (
	"strings"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestFiguresReadAsSentences(t *testing.T) {
	for want, f := range map[string]harness.Figure{
		"1,498 grants":                   {Name: "grants", Value: 1498},
		"1 certain hold":                 {Name: "certain holds", Value: 1},
		"1 lost from group 3":            {Name: "lost from group 3", Value: 1},
		"1 acknowledged by cut groups":   {Name: "acknowledged by cut groups", Value: 1},
		"1 message asked for":            {Name: "messages asked for", Value: 1},
		"24.4 % lost":                    {Name: "lost percent", Value: 24.41, Unit: "%"},
		"99.0 lost per second of fault":  {Name: "lost per second of fault", Value: 99, Unit: "1/s"},
		"2.35 duplicates per 1000 calls": {Name: "duplicates per 1000 calls", Value: 2.345},
		"first duplicate at call 1,020":  {Name: "first duplicate at call", Value: 1020},
		"longest wait 1.46 s":            {Name: "longest wait", Value: 1.46, Unit: "s"},
		"3 MiB held":                     {Name: "held", Value: 3, Unit: "MiB"},
		"first lost write 100 ms after fault start": {Name: "first lost write after fault start", Value: 0.1,
			Unit: "s"},
		"first lost write 20.0 ms before fault start": {Name: "first lost write after fault start", Value: -0.02,
			Unit: "s"},
	} {
		s := sayFigure(f)
		require.Equal(t, want, strings.TrimSpace(s.Lead+" "+s.Number+" "+s.Rest), f.Name)
	}
}
