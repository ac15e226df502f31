package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// leastRoom is how much has to fit into the temporary folder: nodes' configurations, logs and sockets are there.
const leastRoom = 1 << 20

// TempRoom returns ErrLimit, with the remedy, if the folder for temporary files ($TMPDIR) cannot take a cluster's.
func TempRoom() error {
	dir := os.TempDir()
	f, err := os.CreateTemp(dir, "doublegrant-room-")
	if err == nil {
		_, err = f.Write(make([]byte, leastRoom))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err == nil {
		return nil
	}
	what := "free some space there"
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		what = "make it a folder that can be written"
	}
	return fmt.Errorf("cluster: %w: the folder for temporary files, %s, cannot take the %d KiB of a cluster: %s, or set TMPDIR to another: %w",
		ErrLimit, dir, leastRoom>>10, what, err)
}

// Reach is what addresses nodes can have on this machine.
type Reach struct {
	Port  int   // of Redis nodes
	Usual bool  // it is Redis's own
	Err   error // ErrLimit, with the remedy; nil: there are addresses
}

// Addresses looks which addresses nodes would have, and gives them back.
func Addresses() Reach {
	s, err := claimSubnet()
	if err != nil {
		return Reach{Err: err}
	}
	return Reach{Port: s.ports.redis, Usual: s.ports == portChoices[0], Err: s.release()}
}
