package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// leastRoom is the space in bytes that a cluster needs in the temporary folder, for nodes' configurations, logs and
// sockets.
const leastRoom = 1 << 20

// TempRoom returns ErrLimit, with the remedy, if the folder for temporary files ($TMPDIR) has too little space for a
// cluster.
func TempRoom() error {
	dir := os.TempDir()
	f, err := os.CreateTemp(dir, "doublegrant-room-")
	if err == nil {
		err = os.Remove(f.Name()) // before it is written, so that a killed process leaves nothing behind
		_, full := f.Write(make([]byte, leastRoom))
		err = errors.Join(err, full, f.Close())
	}
	if err == nil {
		return nil
	}
	what := "free some space there"
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		what = "make it a folder that can be written"
	}
	return fmt.Errorf("cluster: %w: the folder for temporary files, %s, cannot take the %d KiB of a cluster: %s, or "+
		"set TMPDIR to another: %w",
		ErrLimit, dir, leastRoom>>10, what, err)
}

// Reach says whether nodes can have addresses on this machine, and on which port they would listen.
type Reach struct {
	Port          int   // port of Redis nodes
	IsDefaultPort bool  // Port is Redis's default
	Err           error // ErrLimit, with the remedy; nil: addresses are available
}

// Addresses checks whether nodes can have addresses on this machine. It keeps none of them.
func Addresses() Reach {
	s, err := claimSubnet()
	if err != nil {
		return Reach{Err: err}
	}
	return Reach{Port: s.ports.redis, IsDefaultPort: s.ports == portChoices[0], Err: s.release()}
}
