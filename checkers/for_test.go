package checkers

import (
	"context"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// load returns a workload that is never opened.
type load struct {
	kinds  []harness.Kind
	fenced bool
}

func (load) Name() string                                      { return "load" }
func (l load) Kinds() []harness.Kind                           { return l.kinds }
func (l load) Fenced() bool                                    { return l.fenced }
func (load) Open(context.Context, int) (harness.Client, error) { panic("nobody opens it") }
func loadOf(kinds ...harness.Kind) load                        { return load{kinds: kinds} }
func namesOf(cs []harness.Checker) (names string)              { return strings.Join(listOf(cs), " ") }
func listOf(cs []harness.Checker) (names []string) {
	for _, c := range cs {
		names = append(names, c.Name())
	}
	return names
}

func TestWhichCheckersBelongToALoad(t *testing.T) {
	lock := loadOf(harness.Acquire, harness.Release, harness.Extend)
	resource := loadOf(harness.Acquire, harness.Release, harness.Add, harness.Read)
	writes := loadOf(harness.Add, harness.Read)
	for _, c := range []struct {
		loads []harness.Workload
		want  string
	}{
		{[]harness.Workload{lock}, "mutex stuck porcupine gates"},
		{[]harness.Workload{load{lock.kinds, true}}, "mutex stuck fence porcupine gates"},
		{[]harness.Workload{resource}, "mutex stuck holders writes porcupine gates"},
		{[]harness.Workload{load{resource.kinds, true}}, "mutex stuck fence holders writes porcupine gates"},
		{[]harness.Workload{loadOf(harness.Claim, harness.Deliver, harness.Confirm)}, "dedup delivery porcupine gates"},
		{[]harness.Workload{loadOf(harness.Next)}, "sequence porcupine gates"},
		{[]harness.Workload{writes}, "writes gates"},
		{[]harness.Workload{loadOf(harness.Add, harness.Read, harness.Acquire)}, "mutex writes porcupine gates"}, // rounds with locks
		{[]harness.Workload{lock, writes}, "mutex stuck writes porcupine gates"},                                 // a rider guards nothing
		{[]harness.Workload{loadOf(harness.Next), lock, lock}, "mutex stuck sequence porcupine gates"},
		{[]harness.Workload{loadOf("dance")}, ""},
		{nil, ""},
	} {
		require.Equal(t, c.want, namesOf(For(c.loads...)), "%v", c.loads)
	}
}

func TestWhichCheckersBelongToASearch(t *testing.T) {
	for want, kinds := range map[string][]harness.Kind{
		"situations mutex stuck fence": {harness.Acquire, harness.Release},
		"situations dedup delivery":    {harness.Claim, harness.Deliver, harness.Confirm},
		"situations sequence stored":   {harness.Next},
		"":                             {harness.Add, harness.Read},
	} {
		require.Equal(t, want, namesOf(ForSearch(kinds...)))
	}
}

func TestWhichCheckersBelongToAHistoryOfOthers(t *testing.T) {
	lock := []harness.Kind{harness.Acquire, harness.Extend, harness.Release}
	filter := []harness.Kind{harness.Claim, harness.Confirm}
	for _, c := range []struct {
		seen Seen
		want []harness.Checker
	}{
		{Seen{Kinds: lock}, []harness.Checker{Mutex(), Gates()}},
		{Seen{Kinds: lock, Tokens: true}, []harness.Checker{Mutex(), Fence(), Gates()}},
		{Seen{Kinds: filter}, []harness.Checker{Dedup(), Gates()}},
		{Seen{Kinds: filter, Confirms: true}, []harness.Checker{DedupConfirmed(false), Gates()}},
		{Seen{Kinds: filter, Confirms: true, HarnessConfirms: true}, []harness.Checker{DedupConfirmed(true), Gates()}},
		{Seen{Kinds: []harness.Kind{harness.Next}}, []harness.Checker{Sequence(), Gates()}},
		{Seen{Kinds: []harness.Kind{harness.Add, harness.Read}}, []harness.Checker{Writes(), Gates()}},
	} {
		require.Equal(t, c.want, ForHistory(c.seen), "%+v", c.seen)
	}
}

func TestWatchersNeedNoEndOfTheRun(t *testing.T) {
	every := load{[]harness.Kind{
		harness.Acquire, harness.Release, harness.Claim, harness.Deliver, harness.Next, harness.Add, harness.Read,
	}, true}
	require.Equal(t, "mutex fence dedup sequence holders", namesOf(Watchers(For(every))))
}

// lookedAt are the kinds that checkers judge beside those of roles: what a lock, filter or sequence may record besides.
var lookedAt = []harness.Kind{harness.Extend, harness.Confirm, harness.Inspect}

// ofTheExplorer is the one class that no checker finds: the explorer sees that nobody can go on, and a history does not.
const ofTheExplorer = harness.Deadlock

func TestEveryKindHasACheckerAndEveryClassAFinderAndADescription(t *testing.T) {
	kinds, classes := constants(t, "Kind"), constants(t, "Class")
	require.Len(t, kinds, 10)
	require.Len(t, classes, 16)
	for name, kind := range kinds {
		needed := slices.ContainsFunc(roles, func(r role) bool { return slices.Contains(r.needs, harness.Kind(kind)) })
		require.True(t, needed || slices.Contains(lookedAt, harness.Kind(kind)), "no checker judges harness.%s: add it to roles", name)
	}
	for name, class := range classes {
		d := harness.Class(class).Doc()
		require.NotEmpty(t, d.Meaning, "harness.%s has no line in harness/class.go", name)
		require.NotEmpty(t, d.Harm, name)
		require.NotEmpty(t, d.Remedy, name)
		found := harness.Class(class) == ofTheExplorer || slices.ContainsFunc(roles, func(r role) bool { return slices.Contains(r.finds, harness.Class(class)) })
		require.True(t, found, "no checker finds harness.%s: add it to roles", name)
	}
	require.Len(t, harness.Classes(), len(classes))
}

// A checker finds what roles say it finds: no file but for.go names a class that the role of none of its checkers has.
func TestCheckersFindWhatTheirRolesSay(t *testing.T) {
	classes := constants(t, "Class")
	files := map[string]string{ // where another file than that of its name reports what a checker finds
		"overlap": "mutex", "recall": "sequence",
	}
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || path == "for.go" {
			continue
		}
		name := strings.TrimSuffix(path, ".go")
		if other, ok := files[name]; ok {
			name = other
		}
		for _, class := range named(t, path, classes) {
			for _, r := range roles {
				if r.checker.Name() == name {
					require.Contains(t, r.finds, harness.Class(class), "%s names it", path)
					seen[class] = true
				}
			}
		}
	}
	require.Len(t, seen, len(classes)-1, "each class is reported in some checker's file: %v", seen)
}

// constants returns those of package harness that have that type, by name.
func constants(t *testing.T, typ string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join("..", "harness", "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		ast.Inspect(parsed(t, path), func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typ {
				text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				all[spec.Names[0].Name] = text
			}
			return true
		})
	}
	return all
}

// named returns the classes that a file names.
func named(t *testing.T, path string, classes map[string]string) (found []string) {
	t.Helper()
	ast.Inspect(parsed(t, path), func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if class, is := classes[sel.Sel.Name]; is {
				found = append(found, class)
			}
		}
		return true
	})
	return found
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := parser.ParseFile(gotoken.NewFileSet(), path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
