package explore

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestRacedProgressCountsUpToWhatTheResultSays(t *testing.T) {
	told := make(chan struct{})
	var once sync.Once
	var ops atomic.Int64
	s := quiet(program(writesTo("k", 5)), finder(func(harness.Op) bool {
		if ops.Add(1) > 400 { // the search waits in the middle until it was told what is planned
			<-told
		}
		return false
	}))
	var all []Progress // no lock: the race detector would tell if a call came beside another, or after the search
	s.OnProgress = func(p Progress) {
		if all = append(all, p); p.Planned > 0 {
			once.Do(func() { close(told) })
		}
	}
	res, err := searchSoon(t, s)
	require.NoError(t, err)

	last := all[len(all)-1]
	require.Equal(t, Progress{Budget: res.Budget, Part: len(res.Parts), Parts: len(res.Parts), Schedules: res.Schedules, Pruned: res.Pruned, Found: len(res.Found)}, last)
	require.Greater(t, len(all), 1, "a search of %v tells nothing before its end", res.Elapsed)
	require.Less(t, len(all), int(res.Elapsed/progressEvery)+3)
	for i, p := range all[1:] {
		require.GreaterOrEqual(t, p.Schedules, all[i].Schedules)
	}
}

func TestProgressOfASearchThatEndsEarlyNamesThePartItEndedIn(t *testing.T) {
	s := quiet(program(writesTo("k", 3)))
	s.MaxSchedules = 5
	s.LostAnswers, s.LostCommands, s.Late = 0, 0, 0 // several parts
	var last Progress
	s.OnProgress = func(p Progress) { last = p }
	res, err := Search(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, 5, last.Schedules)
	require.Equal(t, len(res.Parts), last.Part)
	require.Less(t, last.Part, last.Parts)
}
