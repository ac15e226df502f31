package harness_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinkingChangesNothing checks that this module changes process-wide settings, such as a logger, only when a
// cluster starts. A program that merely links it is not affected.
func TestLinkingChangesNothing(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	found, err := initsOf(root)
	require.NoError(t, err)
	require.Empty(t, found, "these have an init function: do its work on first use")
}

// TestInitFunctionsAreSeen checks that init functions of packages are found, and nothing else: no methods with that
// name, no tests, and no modules inside this one.
func TestInitFunctionsAreSeen(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":      "module x",
		"a/a.go":      "package a\nfunc init() {}\n",
		"b/b.go":      "package b\ntype b int\nfunc (b) init() {}\nfunc Init() {}\n",
		"c/c_test.go": "package c\nfunc init() {}\n",
		"d/go.mod":    "module y",
		"d/d.go":      "package d\nfunc init() {}\n",
	} {
		writeFile(t, filepath.Join(root, file), text)
	}
	found, err := initsOf(root)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "a/a.go"}, found)
}

// writeFile writes a file, and its folder if that is not there.
func writeFile(t *testing.T, at, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	require.NoError(t, os.WriteFile(at, []byte(text), 0o644))
}

// initsOf finds the packages below root that have an init function, each with a file that has one. Tests are left out.
func initsOf(root string) (map[string]string, error) {
	found := map[string]string{}
	err := eachSource(root, func(name, path string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found[name] = name + "/" + filepath.Base(path)
			}
		}
	})
	return found, err
}

// eachSource calls f for each source file of the module at root, with the folder of its package. Tests, and modules
// inside this one, are left out.
func eachSource(root string, f func(name, path string, file *ast.File)) error {
	return eachGoFile(root, func(name, at string) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if text, err := os.ReadFile(at); err != nil || bytes.HasPrefix(text, []byte("//go:build ignore\n")) {
			return err // a file that is built elsewhere
		}
		file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(path.Dir(name), at, file)
		return nil
	})
}

// eachGoFile calls f for each Go file of the module at root, tests included, with its path from the root. Modules
// inside this one are left out.
func eachGoFile(root string, f func(name, at string) error) error {
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && at != root && notOurs(at):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(at, ".go"):
			return nil
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(name), at)
	})
}
