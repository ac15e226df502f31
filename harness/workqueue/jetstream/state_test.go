package jetstream_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// Other files in the state folder stay when the server's state is removed.
func TestTheEndOfAServerRemovesItsOwnFilesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "letters.txt"), nil, 0o644))
	s, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, jetstream.TokenFile))
	require.NoError(t, s.Remove())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "letters.txt", left[0].Name())
}

// If a folder has files with the names of ours, they are neither used nor removed.
func TestAFolderOfSomebodysIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"token", "nats.json", "jetstream/letters"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o644))
		_, err := jetstream.Serve(dir, "127.0.0.1")
		oneLineWith(t, err, jetstream.ErrFolder, "name another folder with --state")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "mine", string(text))
	}
}

func TestAnAddressThatCannotBeLeavesNoFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	for _, listen := range []string{"127.0.0.1:many", "127.0.0.1:-1", "127.0.0.1:65536"} {
		_, err := jetstream.Serve(dir, listen)
		oneLineWith(t, err, jetstream.ErrAccess, "is not an address to listen on")
	}
	require.NoDirExists(t, dir)
}

// If Serve cannot write its files into the folder, it also ends the server that it has started.
func TestAServerThatCannotBeFoundEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, s.Stop())
	address := s.Access.URL[len("nats://"):]
	require.NoError(t, os.Mkdir(filepath.Join(dir, "token.new"), 0o755)) // in the way
	_, err = jetstream.Serve(dir, address)
	require.ErrorContains(t, err, "token.new")
	l, err := net.Listen("tcp", address)
	require.NoError(t, err, "nobody listens there")
	require.NoError(t, l.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "token.new")))
	again, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.Equal(t, []string{s.Access.URL, s.Access.Token},
		[]string{again.Access.URL, again.Access.Token}, "as before")
	require.NoError(t, again.Stop())
}

// If the address is taken, Serve leaves no new folder behind, and keeps what an earlier server has left.
func TestATakenAddressLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	dir := filepath.Join(t.TempDir(), "state")
	_, err = jetstream.Serve(dir, l.Addr().String())
	require.ErrorContains(t, err, "which is in use or does not belong to this machine")
	require.NoDirExists(t, dir)
	s, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.NoError(t, s.Stop())
	_, err = jetstream.Serve(dir, l.Addr().String())
	require.ErrorContains(t, err, "which is in use or does not belong to this machine")
	again, err := jetstream.Serve(dir, "127.0.0.1")
	require.NoError(t, err)
	require.Equal(t, []string{s.Access.URL, s.Access.Token}, []string{again.Access.URL, again.Access.Token})
	require.NoError(t, again.Remove())
}
