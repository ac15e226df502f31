package coordinate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

func TestAResultsFolderIsTheSameWhenItIsUnpacked(t *testing.T) {
	t.Parallel()
	from, into := t.TempDir(), filepath.Join(t.TempDir(), "into")
	require.NoError(t, os.MkdirAll(filepath.Join(from, "a/b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "a/b/c"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from, "link")))
	packed, err := pack(from, workqueue.MostBytes)
	require.NoError(t, err)
	require.NoError(t, unpack(packed, into))
	text, err := os.ReadFile(filepath.Join(into, "a/b/c"))
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	require.NoFileExists(t, filepath.Join(into, "link"))
}

// A folder that is too large is refused while it is packed, also within one file.
func TestAResultsFolderThatIsTooLarge(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	text := make([]byte, 1<<20)
	_, err := rand.Read(text)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(from, "a"), text, 0o600))
	_, err = pack(from, 100<<10)
	require.EqualError(t, err, "coordinate: pack a results folder: it has more than 102400 bytes even when compressed")
	out := limitedBuffer{limit: 3}
	_, err = out.Write([]byte("four"))
	require.Error(t, err)
	require.Zero(t, out.text.Len())
	packed, err := pack(from, 2<<20)
	require.NoError(t, err)
	require.Less(t, len(packed), 2<<20)
}

// packed makes a tar of these headers. Each file has one byte.
func packed(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			_, err := w.Write([]byte("x"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func TestWhatAWorkerSendsIsNotTrusted(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o777}
	}
	many := make([]tar.Header, mostFiles+1)
	for i := range many {
		many[i] = tar.Header{Typeflag: tar.TypeDir, Name: "d/"}
	}
	for want, text := range map[string][]byte{
		"cannot be the name of a file":  packed(t, file("../out")),
		`"/etc/out" cannot be the name`: packed(t, file("/etc/out")),
		"neither a file nor a folder": packed(t,
			tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}),
		`"h" is neither`: packed(t, file("a"), tar.Header{Typeflag: tar.TypeLink, Name: "h", Linkname: "a"}),
		"exists":         packed(t, file("a"), file("a")),
		fmt.Sprintf("more than %d files", mostFiles): packed(t, many...),
		"not a results folder":                       []byte("no tar"),
		"unexpected EOF":                             packed(t, file("a"))[:40],
	} {
		dir := filepath.Join(t.TempDir(), "into")
		require.ErrorContains(t, unpack(text, dir), want)
		require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "out"))
	}
	require.ErrorContains(t, unpackOne(nil, nil, &tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1}, -1),
		"more than 4294967296 bytes")
}

func TestAWorkerRefuses(t *testing.T) {
	t.Parallel()
	run := func(text string) []byte {
		u, err := newUnit(KindRun, "v1", "", runUnit{text, 0})
		require.NoError(t, err)
		return u.Body
	}
	d := &Executor{Version: "v1"}
	for want, u := range map[string]workqueue.Unit{
		`the coordinator is "v2", and this is "v1"`: {Kind: KindRun, Program: "v2"},
		`the work is for "Redis 1.0"`:               {Kind: KindRun, Program: "v1", Server: "Redis 1.0"},
		`units of the kind "dance" are unknown`:     {Kind: "dance", Program: "v1"},
		"allow that with --allow-adapters": {Kind: KindRun, Program: "v1",
			Body: run("name: x\nruns: [{name: c, adapter: {command: [rm]}}]\n")},
		"needs a connection to the coordinator": {Kind: KindShare, Program: "v1", Body: []byte(`{"run":"x","number":1}`)},
		"it starts the adapter": {Kind: KindPiece, Program: "v1",
			Body: []byte(`{"search":{"variant":"x","client":{"command":["rm"]}},"piece":{}}`)},
	} {
		_, err := d.Do(t.Context(), u)
		require.ErrorIs(t, err, workqueue.ErrRefused)
		require.ErrorContains(t, err, want)
	}
	for want, u := range map[string]workqueue.Unit{
		"unknown field":            {Kind: KindPiece, Program: "v1", Body: []byte(`{"sarch":{}}`)},
		"more than one JSON value": {Kind: KindPiece, Program: "v1", Body: []byte(`{}{}`)},
		"it names a file": {Kind: KindRun, Program: "v1",
			Body: run("name: x\nruns: [{script: {as: lock, file: /etc/passwd}}]\n")},
		"unknown field \"vari": {Kind: KindRun, Program: "v1", Body: run("name: x\nruns: [{vari: 1}]\n")},
	} {
		_, err := d.Do(t.Context(), u)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, workqueue.ErrRefused)
	}
}
