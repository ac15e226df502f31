// Package schemas has a JSON Schema for each kind of document that doublegrant prints or writes, and checks in tests
// that documents meet them. The schemas are generated from the Go types and their comments.
package schemas

import (
	"embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"
)

// version is the version of all documents. It equals reports.Schema, which this package cannot import, because tests of
// package reports import this one.
const version = 1

var update = flag.Bool("update-schemas", false, "write the JSON Schemas anew")

//go:embed *.json
var files embed.FS

// Hold fails the test unless the schema of the given kind describes T, and each of the documents meets that schema.
// With -update-schemas it writes the schema instead. T embeds reports.Head, and its field Kind has the given value.
func Hold[T any](t *testing.T, kind string, documents ...[]byte) {
	t.Helper()
	want := generate[T](t, kind)
	if *update {
		path := filepath.Join(root(t), "reports", "schemas", fileOf(kind))
		require.NoError(t, os.WriteFile(path, want, 0o644))
		return
	}
	got, err := files.ReadFile(fileOf(kind))
	require.NoError(t, err, "write the schema: -update-schemas")
	require.Equal(t, string(want), string(got), "the schema of %s is out of date: write it anew by -update-schemas", kind)
	require.NotEmpty(t, documents)
	for _, d := range documents {
		require.NoError(t, Check(kind, d))
	}
}

// Check returns an error unless the document meets the schema of its kind.
func Check(kind string, document []byte) error {
	s, err := read(kind)
	if err != nil {
		return err
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(document, &value); err != nil {
		return fmt.Errorf("not one JSON value: %w", err)
	}
	return resolved.Validate(value)
}

// read returns the schema of a kind.
func read(kind string) (*jsonschema.Schema, error) {
	text, err := files.ReadFile(fileOf(kind))
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	return &s, json.Unmarshal(text, &s)
}

func fileOf(kind string) string { return kind + ".json" }
