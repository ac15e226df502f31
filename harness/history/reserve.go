package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
)

// reserveSize is the disk space kept back for the end of a run whose disk is full: for its end and its report.
const reserveSize = 1 << 20

// newReserve writes the file that is given back when the disk is full. Its content does not compress, for file systems
// that do.
func newReserve(path string) error {
	b := make([]byte, reserveSize)
	noise := rand.NewChaCha8([32]byte{})
	_, _ = noise.Read(b) // never fails
	err := os.WriteFile(path, b, 0o644)
	if isDiskFull(err) {
		return fmt.Errorf("%w (%w)", ErrFull, err)
	}
	return err
}

// isDiskFull reports whether err says that there is no space left for a file.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
