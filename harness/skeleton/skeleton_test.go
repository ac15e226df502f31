package skeleton_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/skeleton"
)

// The module of the Go skeleton requires the Go that doublegrant needs, and this version of doublegrant if it has one.
func TestTheModuleOfTheGoSkeleton(t *testing.T) {
	ours, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	s, err := skeleton.Find("go")
	require.NoError(t, err)
	for _, version := range []string{"", "v1.2.3"} {
		files, err := s.Files(version)
		require.NoError(t, err)
		require.Equal(t, "go.mod", files[0].Name)
		text := string(files[0].Text)
		line := regexp.MustCompile(`(?m)^go .*$`)
		require.Equal(t, line.FindString(string(ours)), line.FindString(text))
		require.Equal(t, version != "", strings.Contains(text, "require github.com/doublegrant/doublegrant v1.2.3\n"))
	}
}

// Each skeleton says where the user's code goes, in one of its files.
func TestEachSkeletonHasWhatItNames(t *testing.T) {
	for _, s := range skeleton.All() {
		files, err := s.Files("")
		require.NoError(t, err, s.Name)
		named := false
		for _, f := range files {
			require.NotEmpty(t, f.Text, f.Name)
			named = named || strings.Contains(s.Change, f.Name)
		}
		require.True(t, named, "%s: %s", s.Name, s.Change)
	}
}

// An existing file is never changed, not even a dangling link, and nothing is written beside it.
func TestNothingIsWrittenOverAFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "b")))
	files := []skeleton.File{{Name: "a", Text: []byte("x")}, {Name: "b", Text: []byte("x")}}
	require.EqualError(t, skeleton.Write(dir, files), dir+" already has b")
	require.Equal(t, []string{"b"}, namesIn(t, dir))
}

// If a file cannot be written, those before it and their folders are removed. What was there stays.
func TestWhatCannotBeFinishedIsRemoved(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "is a file"), nil, 0o644))
	files := []skeleton.File{
		{Name: "new/folder/a", Text: []byte("x")}, {Name: "c", Text: []byte("x")}, {Name: "is a file/b"},
	}
	require.ErrorContains(t, skeleton.Write(dir, files), "is a file: not a directory")
	require.Equal(t, []string{"is a file"}, namesIn(t, dir))
	require.NoError(t, skeleton.Write(filepath.Join(dir, "x/y"), files[:2]))
	require.Equal(t, []string{"is a file", "x", "x/y", "x/y/c", "x/y/new", "x/y/new/folder", "x/y/new/folder/a"},
		namesIn(t, dir))
}

func namesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			all = append(all, name)
		}
		return err
	}))
	return all
}
