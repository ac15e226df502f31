package granttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file keeps the corpus: counterexamples of earlier searches, saved beside the test. Later runs replay them first.

// corpusDir is the folder of a package's corpus, which is all that its tests have saved. Each test has a folder in it.
const corpusDir = "testdata/granttest"

// saved is a counterexample that a test has saved in a file.
type saved struct {
	Format         int                       `json:"format"` // version of the format, savedFormat
	Kind           kind                      `json:"kind"`
	Again          string                    `json:"again"` // the command that repeats the test
	Parameters     parameters                `json:"parameters"`
	Skew           time.Duration             `json:"skew,omitempty"`
	Counterexample interleave.Counterexample `json:"counterexample"`
}

// savedFormat is the version of the format that this program writes and reads.
const savedFormat = 1

// testDir returns a test's folder within a given folder. A subtest's folder is within its test's.
func testDir(in, test string) string {
	for part := range strings.SplitSeq(test, "/") {
		in = filepath.Join(in, unsafeInName.ReplaceAllString(part, "_"))
	}
	return in
}

// unsafeInName matches what is replaced in a folder's name by underscores.
var unsafeInName = regexp.MustCompile(`[^a-zA-Z0-9_#-]`)

// save writes a counterexample to a file in the test's folder. The same counterexample always gets the same file name.
func (s subject) save(t TB, p parameters, c interleave.Counterexample, skew time.Duration) (path string, err error) {
	c.Ops = nil // the steps have all of it
	f := saved{savedFormat, s.kind, commandToRepeat(t.Name()), p, skew, c}
	name, err := f.name()
	if err != nil {
		return "", err
	}
	path = filepath.Join(testDir(corpusDir, t.Name()), name)
	return path, reports.WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(f)
	})
}

// name returns the file's name: the class of the violation, and a hash of what determines a replay. The hash is over
// JSON, which leaves empty fields out, so a new field does not change the names of older files. Files of any other name
// are replayed as well.
func (f saved) name() (string, error) {
	text, err := json.Marshal(map[string]any{
		"kind": f.Kind, "ttl": f.Parameters.TTL, "regime": f.Parameters.Regime, "skew": f.Skew,
		"budget": f.Counterexample.Budget, "schedule": f.Counterexample.Schedule,
	})
	hash := fnv.New32a()
	hash.Write(text)
	return fmt.Sprintf("%s-%08x.json", f.Counterexample.Anomaly.Class, hash.Sum32()), err
}

// read reads a saved file. The error says why the file cannot be used.
func (s subject) read(path string) (f saved, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var head struct{ Format int }
	if json.Unmarshal(text, &head) == nil && head.Format != savedFormat { // a later format may have fields of its own
		return f, fmt.Errorf("its format is %d, and this version reads %d", head.Format, savedFormat)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, err
	}
	switch c := f.Counterexample; {
	case f.Kind != s.kind:
		return f, fmt.Errorf("it is for a %s, and this test is for a %s", f.Kind, s.kind)
	case len(c.Schedule) == 0:
		return f, errors.New("it has no schedule")
	case c.Budget.Clients < 2 || c.Budget.Clients > interleave.MaxClients:
		return f, fmt.Errorf("it has %d clients, and a search has 2 to %d", c.Budget.Clients, interleave.MaxClients)
	case c.Budget.Place < 0 || c.Budget.Place > interleave.MaxPlaces-c.Budget.Clients:
		return f, fmt.Errorf("its clients begin at place %d, and there are %d places", c.Budget.Place,
			interleave.MaxPlaces)
	}
	if f.Parameters.Regime != "" {
		_, err = workloads.ParseRegime(string(f.Parameters.Regime))
	}
	return f, err
}

// replaySaved replays each counterexample that is saved for the test. It returns true if none of them shows its
// violation again. Then the test may go on. An unusable file fails the test but does not stop it.
func (s subject) replaySaved(t TB) (goOn bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testDir(corpusDir, t.Name()), "*.json"))
	if err != nil {
		t.Fatalf("granttest: %v", err)
	}
	goOn = true
	for _, path := range files {
		f, err := s.read(path)
		if err != nil {
			t.Errorf("%s cannot be replayed: %v. Delete it: if the race is still there, the search finds and saves "+
				"it again", path, err)
			continue
		}
		goOn = s.replay(t, path, f) && goOn
	}
	return goOn
}

// replayOne replays one file or recipe, for the replay flag.
func (s subject) replayOne(t TB, from string) {
	t.Helper()
	if interleave.IsRecipe(from) {
		f, err := s.parse(t, from)
		if err != nil {
			t.Fatalf("granttest: -granttest.replay: the schedule cannot be replayed: %v", err)
		}
		s.replay(t, "the word after -granttest.replay", f, "-granttest.replay", from)
		return
	}
	path, err := locate(from)
	if err != nil {
		t.Fatalf("granttest: -granttest.replay: %v", err)
	}
	f, err := s.read(path)
	if err != nil {
		t.Fatalf("granttest: -granttest.replay: %s cannot be replayed: %v", path, err)
	}
	s.replay(t, path, f, "-granttest.replay", shellQuoted(from))
}

// locate finds a file by a path relative to the package's folder, where tests run, or to a folder above it, where the
// user may have started go test.
func locate(path string) (string, error) {
	first := path
	for range strings.Count(cmp.Or(workingDir(), "/"), "/") + 1 {
		if _, err := os.Stat(path); err == nil || filepath.IsAbs(path) || !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
		path = filepath.Join("..", path)
	}
	return first, fmt.Errorf("there is no %s in the package's folder %s, or named from a folder above it", first,
		workingDir())
}

func workingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return filepath.ToSlash(dir)
}

// replay replays a saved counterexample, and reports whether the test may go on. If the violation happens again, the
// failure shows a go test command that repeats it. The parameter flags holds the flags that select this replay in that
// command. Without flags the command repeats the whole test.
func (s subject) replay(t TB, path string, f saved, flags ...string) (goOn bool) {
	t.Helper()
	g := newSupervisor(callTime, true)
	spec := s.spec(g, f.Parameters)
	spec.Skew = f.Skew
	var got explore.Followed
	err := g.runSupervised(searchGrace, func() (err error) {
		got, err = explore.Follow(t.Context(), spec, f.Counterexample)
		return err
	})
	if !s.checkCompleted(t, g, err) {
		return false
	}
	switch {
	case got.Counterexample != nil:
		t.Errorf("%s is not %s%s: %s happens again, replayed from %s\n\n%s\nrepeat it: %s",
			s.name, promise[s.kind], f.Parameters.inRegime(), f.Counterexample.Anomaly.Class, path,
			counterexampleText(*got.Counterexample), commandToRepeat(t.Name(), flags...))
		return false
	case got.Stopped != "":
		t.Logf("%s: the replay did not end, as the search will report too: %s%s", path, got.Stopped, g.underWay())
	case got.FirstUnfollowed != "":
		t.Logf("%s: passes; it now sends other commands, so the replay followed the saved schedule as closely as "+
			"possible (%s)", path,
			got.FirstUnfollowed)
	default:
		t.Logf("%s: passes", path)
	}
	return true
}
