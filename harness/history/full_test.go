package history_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

// A disk may be full when a new segment begins. Accepted operations and the end of the run are kept all the same.
func TestADiskThatIsFullAtTheBeginningOfASegment(t *testing.T) {
	disk := smallDisk(t)
	s, err := history.Create(filepath.Join(disk, "history"))
	require.NoError(t, err)
	require.NoError(t, s.WriteMeta(harness.Meta{Name: "full"}))
	history.SetSegmentSize(s, 200)
	ops := someOps(2000)
	require.NoError(t, s.WriteOps(ops[:1000]))
	history.Flush(s)
	fill(t, disk)

	require.NoError(t, s.WriteOps(ops[1000:]), "taken")
	history.Flush(s)
	require.ErrorIs(t, s.WriteOps(nil), history.ErrFull)
	require.NoError(t, s.WriteEnd(harness.End{At: 9, Reason: "the disk is full"}))
	_ = s.Close() // repeats that the disk is full
	h, err := s.History()
	require.NoError(t, err)
	require.NotNil(t, h.End)
	require.Equal(t, "the disk is full", h.End.Reason)
	got, err := readAll(h)
	require.NoError(t, err)
	require.Equal(t, ops, got)
}

// A disk may be full before anything is written, or have less room than the reserve.
func TestADiskThatIsFullBeforeTheFirstRecord(t *testing.T) {
	disk := smallDisk(t)
	fill(t, disk)
	_, err := history.Create(filepath.Join(disk, "history"))
	require.ErrorIs(t, err, history.ErrFull)
}

// smallDisk mounts a disk of 4 MB.
func smallDisk(t *testing.T) string {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	return disk
}

// fill writes to the disk until it is full.
func fill(t *testing.T, disk string) {
	filler, err := os.Create(filepath.Join(disk, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, filler.Close())
}
