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

func TestTheTimesOfASentenceCanBeCompared(t *testing.T) {
	for note, want := range map[string]string{
		"granted k by 10.500001s, while client 1 certainly held it from 2µs until 5µs; in all for 10s": "granted k by " +
			"10.500001s, while client 1 certainly held it from 0.000002s until 0.000005s; in all for 10s",
		"from 1m0.5s to 1m1s":             "from 60.5s to 61.0s",
		"at 4µs and at 12.5µs":            "at 4.0µs and at 12.5µs",
		"by 1.5ms, and at 999µs":          "by 1.500ms, and at 0.999ms",
		"by 10.001005s, until 10.001006s": "by 10.001005s, until 10.001006s",
		"at 1m5s":                         "at 1m5s", // nothing to compare it with
		"granted 5s by 1s, until the end": "granted 5s by 1s, until the end",
		"by 5 clients, at 1.2.3s, to 7us": "by 5 clients, at 1.2.3s, to 7us",
	} {
		require.Equal(t, want, AlignTimes(note))
	}
}
