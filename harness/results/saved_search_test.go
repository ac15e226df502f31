package results

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// savedRace returns the path of a file with a search that ended after one schedule.
func savedRace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "race.search")
	s := race
	s.MaxSchedules = 1
	_, err := Explore(t.Context(), s, Options{Results: t.TempDir(), Save: path})
	require.NoError(t, err)
	return path
}

func TestAFileThatHoldsNoSearchIsRefused(t *testing.T) {
	path := savedRace(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for want, content := range map[string][]byte{
		"it is incomplete or was changed": text[:len(text)-1],
		"was changed: copy it again":      bytes.Replace(text, []byte(`"schedules":1`), []byte(`"schedules":2`), 1),
		"explore --save wrote":            {},
		"it has format 9":                 bytes.Replace(text, []byte(`"format":1`), []byte(`"format":9`), 1),
	} {
		require.NotEqual(t, string(text), string(content), want)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		_, err := ReadSearch(path)
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	for cut := range text {
		require.NoError(t, os.WriteFile(path, text[:cut], 0o644))
		_, err := ReadSearch(path)
		require.ErrorIs(t, err, plan.ErrUsage, "cut after %d bytes", cut)
	}
}

func TestASearchGoesOnOnlyWhereItFits(t *testing.T) {
	path := savedRace(t)
	saved, err := ReadSearch(path)
	require.NoError(t, err)
	require.False(t, saved.Checkpoint.Done())
	for want, change := range map[string]func(*savedHead){
		"doublegrant v0.1 began the search, and this is": func(h *savedHead) { h.Doublegrant = "v0.1" },
		"on Redis 1.0, and this is Redis":                func(h *savedHead) { h.Server = "Redis 1.0" },
		"files of dedup/get-set are miss":                func(h *savedHead) { h.Files = []savedFile{{"x.py", "1"}} },
		"other clients or faults":                        func(h *savedHead) { h.Search.Crashes = 1 },
		"belongs to another program":                     func(h *savedHead) { h.Search.Variant = "dedup/set-nx-ex" },
	} {
		head := saved.head
		change(&head)
		require.NoError(t, head.save(path, saved.Checkpoint))
		other, err := ReadSearch(path)
		require.NoError(t, err)
		_, err = Explore(t.Context(), other.Search, Options{Results: t.TempDir(), Resume: &other})
		require.ErrorIs(t, err, plan.ErrUsage)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestAnAdapterThatHasChangedIsAnotherProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.py")
	require.NoError(t, os.WriteFile(file, []byte("one"), 0o644))
	c := &workloads.Adapter{Command: []string{"python3", file}}
	f := Saved{path: "saved", head: savedHead{Files: filesOf(c)}}
	require.Len(t, f.head.Files, 1)
	require.NoError(t, f.checkFits(savedHead{Files: filesOf(c)}))
	require.NoError(t, os.WriteFile(file, []byte("two"), 0o644))
	require.ErrorContains(t, f.checkFits(savedHead{Files: filesOf(c)}), "mine.py has changed since")
}
