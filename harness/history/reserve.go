package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
)

// reserveSize is the disk space, in bytes, that is reserved for the end and the report of a run whose disk is full.
const reserveSize = 1 << 20

// newReserve writes the file that reserves space, and that is removed when the disk is full. Its content is random,
// since some file systems compress files.
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

// isDiskFull reports whether err means that a disk or a quota is full.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
