package schemas

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/tally"
)

const module = "github.com/doublegrant/doublegrant/"

// generate returns the schema of T, indented. The comments of types and fields are its descriptions.
func generate[T any](t *testing.T, kind string) []byte {
	t.Helper()
	typ := reflect.TypeFor[T]()
	special := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[map[int]string](): {Type: "object", PropertyNames: &jsonschema.Schema{Pattern: "^[0-9]+$"},
			AdditionalProperties: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[harness.Effects](): {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		reflect.TypeFor[harness.Verdict](): words(harness.Unknown, harness.Valid, harness.Invalid),
		reflect.TypeFor[harness.Outcome](): words(harness.OK, harness.Fail, harness.Info),
		reflect.TypeFor[tally.Ending]():    words(tally.NotRun, tally.Met, tally.Undecided, tally.Failed, tally.NotMet),
	}
	addTexts(special, typ, map[reflect.Type]bool{})
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: special})
	require.NoError(t, err)
	d := describer{t: t, root: root(t), packages: map[string]map[string]string{}}
	d.describe(s, typ)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "doublegrant " + kind
	s.Properties["schema"].Const = jsonschema.Ptr[any](version)
	s.Properties["kind"].Const = jsonschema.Ptr[any](kind)
	text, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}

// words returns the schema of a type whose values are written as the given words.
func words[T fmt.Stringer](all ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range all {
		s.Enum = append(s.Enum, v.String())
	}
	return s
}

// addTexts adds entries to the map all: a schema for each type within typ that is written as text.
func addTexts(all map[reflect.Type]*jsonschema.Schema, typ reflect.Type, visited map[reflect.Type]bool) {
	if visited[typ] || all[typ] != nil || typ == reflect.TypeFor[time.Time]() {
		return
	}
	visited[typ] = true
	if typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		all[typ] = &jsonschema.Schema{Type: "string"}
		return
	}
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addTexts(all, typ.Elem(), visited)
	case reflect.Struct:
		for f := range typ.Fields() {
			addTexts(all, f.Type, visited)
		}
	}
}

// describer adds the comments of types and fields to their schemas.
type describer struct {
	t        *testing.T
	root     string                       // the folder of the module
	packages map[string]map[string]string // comments by "Type" or "Type.Field", for each package by its path
}

func (d describer) describe(s *jsonschema.Schema, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer:
		d.describe(s, typ.Elem())
	case reflect.Slice, reflect.Array:
		d.describe(s.Items, typ.Elem())
	case reflect.Map:
		d.describe(s.AdditionalProperties, typ.Elem())
	case reflect.Struct:
		d.describeFields(s, typ)
	}
}

func (d describer) describeFields(s *jsonschema.Schema, typ reflect.Type) {
	for f := range typ.Fields() {
		if f.Anonymous && f.Tag.Get("json") == "" {
			d.describeFields(s, f.Type)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		field, ok := s.Properties[name]
		if !ok { // not exported, or written as "-"
			continue
		}
		require.Regexp(d.t, "^[a-z][A-Za-z0-9]*$", name, "a field of %s is not in camelCase", typ)
		d.describe(field, f.Type)
		unit := field.Description
		field.Description = strings.Trim(d.comment(typ, typ.Name()+"."+f.Name)+"; "+unit, "; ")
	}
}

// comment returns the comment of a type or field in the package of typ. It leaves out the words that only Go
// programmers need.
func (d describer) comment(typ reflect.Type, name string) string {
	inside, ours := strings.CutPrefix(typ.PkgPath(), module)
	if !ours {
		return ""
	}
	if d.packages[inside] == nil {
		d.packages[inside] = comments(d.t, filepath.Join(d.root, inside))
	}
	return d.packages[inside][name]
}

// comments returns the comments of all fields in the Go files of a folder, by "Type.Field".
func comments(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					addComments(all, spec.Name.Name, s)
				}
			}
			return true
		})
	}
	return all
}

func addComments(all map[string]string, typ string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, name := range f.Names {
			all[typ+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}

// root returns the folder of the module, above the folder in which the test runs.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test's folder")
		dir = filepath.Dir(dir)
	}
}
