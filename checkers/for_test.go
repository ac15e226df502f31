package checkers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// load is a workload that is never opened.
type load struct {
	harness.Workload
	kinds  []harness.Kind
	fenced bool
}

func (l load) Kinds() []harness.Kind    { return l.kinds }
func (l load) Fenced() bool             { return l.fenced }
func loadOf(kinds ...harness.Kind) load { return load{kinds: kinds} }

func namesOf(cs []harness.Checker) (names string) {
	for _, c := range cs {
		names += " " + c.Name()
	}
	return strings.TrimSpace(names)
}

func TestWhichCheckersBelongToALoad(t *testing.T) {
	lock := loadOf(harness.Acquire, harness.Release, harness.Extend)
	resource := loadOf(harness.Acquire, harness.Release, harness.Add, harness.Read)
	writes := loadOf(harness.Add, harness.Read)
	for _, c := range []struct {
		loads []harness.Workload
		want  string
	}{
		{[]harness.Workload{lock}, "mutex stuck owners porcupine gates"},
		{[]harness.Workload{load{kinds: lock.kinds, fenced: true}}, "mutex stuck owners fence porcupine gates"},
		{[]harness.Workload{resource}, "mutex stuck owners holders writes porcupine gates"},
		{[]harness.Workload{load{kinds: resource.kinds, fenced: true}},
			"mutex stuck owners fence holders writes porcupine gates"},
		{[]harness.Workload{loadOf(harness.Claim, harness.Deliver, harness.Confirm)}, "dedup delivery porcupine gates"},
		{[]harness.Workload{loadOf(harness.Next)}, "sequence porcupine gates"},
		{[]harness.Workload{writes}, "writes gates"},
		// rounds with locks
		{[]harness.Workload{loadOf(harness.Add, harness.Read, harness.Acquire)}, "mutex writes porcupine gates"},
		// a rider guards nothing
		{[]harness.Workload{lock, writes}, "mutex stuck owners writes porcupine gates"},
		{[]harness.Workload{loadOf(harness.Next), lock, lock}, "mutex stuck owners sequence porcupine gates"},
		{[]harness.Workload{loadOf("dance")}, ""},
		{nil, ""},
	} {
		require.Equal(t, c.want, namesOf(For(c.loads...)), "%v", c.loads)
	}
}

func TestWhichCheckersBelongToASearch(t *testing.T) {
	for want, kinds := range map[string][]harness.Kind{
		"situations mutex stuck owners fence": {harness.Acquire, harness.Release},
		"situations dedup delivery":           {harness.Claim, harness.Deliver, harness.Confirm},
		"situations sequence stored":          {harness.Next},
		"":                                    {harness.Add, harness.Read},
	} {
		require.Equal(t, want, namesOf(ForSearch(kinds...)))
	}
}

func TestWhichCheckersBelongToAHistory(t *testing.T) {
	locks, claims := kindList(harness.Acquire, harness.Release), kindList(harness.Claim)
	for _, c := range []struct {
		seen Contents
		want []harness.Checker
	}{
		{Contents{Kinds: locks}, []harness.Checker{Mutex(), Owners(), Gates()}},
		{Contents{Kinds: locks, Tokens: true}, []harness.Checker{Mutex(), Owners(), Fence(), Gates()}},
		{Contents{Kinds: claims}, []harness.Checker{Dedup(), Gates()}},
		{Contents{Kinds: append(claims, harness.Acquire), Confirms: true, HarnessConfirms: true},
			[]harness.Checker{Mutex(), DedupConfirmed(true), Gates()}},
	} {
		require.Equal(t, c.want, ForHistory(c.seen))
	}
}

func TestWhatCheckersMayFind(t *testing.T) {
	require.Equal(t, []harness.Class{harness.DuplicateNumber, harness.Regression, harness.ReturnedNotStored,
		harness.SequenceRestart, harness.TTLLost},
		Finds(loadOf(harness.Next)))
	require.Empty(t, Finds(loadOf("dance")))
}

func TestWatchersNeedNoEndOfTheRun(t *testing.T) {
	every := loadOf(harness.Acquire, harness.Release, harness.Claim, harness.Deliver, harness.Next, harness.Add,
		harness.Read)
	every.fenced = true
	require.Equal(t, "mutex owners fence dedup sequence holders", namesOf(Watchers(For(every))))
}

// lookedAt lists the kinds that no checker needs, but that checkers judge if they occur.
var lookedAt = []harness.Kind{harness.Extend, harness.Confirm, harness.Inspect}

// ofTheExplorer lists the classes that no checker finds. The explorer sees that nobody can go on and which keys scripts
// touch; a history does not show that.
var ofTheExplorer = []harness.Class{harness.Deadlock, harness.UndeclaredKey}

func TestEveryKindHasACheckerAndEveryClassAFinderAndADescription(t *testing.T) {
	kinds, classes := constants(t, "op.go", "Kind"), constants(t, "class.go", "Class")
	require.Len(t, kinds, 10)
	require.Len(t, classes, 19)
	for _, kind := range kinds {
		needed := slices.ContainsFunc(roles, func(r role) bool { return slices.Contains(r.needs, harness.Kind(kind)) })
		require.True(t, needed || slices.Contains(lookedAt, harness.Kind(kind)),
			"no checker judges %s: add it to roles", kind)
	}
	for _, name := range classes {
		class := harness.Class(name)
		d := class.Doc()
		require.NotEmpty(t, d.Meaning, "%s has no line in harness/class.go", name)
		require.NotEmpty(t, d.Harm, name)
		require.NotEmpty(t, d.Remedy, name)
		found := slices.Contains(ofTheExplorer, class) ||
			slices.ContainsFunc(roles, func(r role) bool { return slices.Contains(r.finds, class) })
		require.True(t, found, "no checker finds %s: add it to roles", name)
	}
	require.Len(t, harness.Classes(), len(classes))
}

// constants lists the constants of that type in package harness, which are all in one file.
func constants(t *testing.T, file, typ string) (all []string) {
	text, err := os.ReadFile(filepath.Join("..", "harness", file))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +`+typ+` += "(.*?)"`).FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}
