package jetstream

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Files in the state folder.
const (
	// The mark: it shows that the folder belongs to doublegrant, which may remove the files named here. The process
	// that serves from the folder locks this file.
	markFile = ".doublegrant-nats"
	natsFile = "nats.json" // has the address of the server
	// TokenFile contains the token for workers, and nothing else. Only the file's owner can read it.
	TokenFile = "token"
	storeDir  = "jetstream"
)

// ErrFolder says that a folder cannot be a state folder, since files that do not belong to doublegrant have the names
// of its state files.
var ErrFolder = errors.New("the state folder contains other files")

// mostClaims is how often a process tries to claim a folder in which other processes start and end.
const mostClaims = 100

// claim creates the state folder, marks it as ours and locks the mark. The result isNew is true if the folder has no
// earlier state.
func claim(dir string) (lock *os.File, isNew bool, err error) {
	mark := filepath.Join(dir, markFile)
	for range mostClaims {
		if _, none := os.Lstat(mark); none != nil {
			if err = claimFolder(dir); err != nil { // or another process has just started or ended there
				continue
			}
		}
		lock, opened := os.OpenFile(mark, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(opened, os.ErrNotExist) { // the folder was removed
			continue
		}
		if opened != nil {
			return nil, false, fmt.Errorf("jetstream: %w", opened)
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			return nil, false, errors.Join(fmt.Errorf("%w: it uses %s", ErrTaken, dir), lock.Close())
		}
		if isAt(lock, mark) {
			_, none := os.Lstat(filepath.Join(dir, natsFile))
			return lock, none != nil, nil
		}
		_ = lock.Close() // the mark was removed
	}
	return nil, false, cmp.Or(err, fmt.Errorf("%w: other processes change %s", ErrTaken, dir))
}

// claimFolder creates the folder. It returns an error if files in it have the names of state files and are not ours.
func claimFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	for _, name := range []string{natsFile, TokenFile, storeDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s: name another folder with --state", ErrFolder, filepath.Join(dir, name))
		}
	}
	return nil
}

// isAt reports whether an open file is the one at a path.
func isAt(f *os.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Lstat(path)
	return err == nil && os.SameFile(is, at)
}

// served is what the state folder keeps so that a server returns at the same address.
type served struct {
	Listen string `json:"listen"`
	token  string // kept in TokenFile
}

// readServed reads a folder's state. Unreadable parts stay empty.
func readServed(dir string) (was served) {
	text, err := os.ReadFile(filepath.Join(dir, natsFile))
	if err == nil && json.Unmarshal(text, &was) != nil {
		was = served{}
	}
	token, err := os.ReadFile(filepath.Join(dir, TokenFile))
	if err == nil {
		was.token = strings.TrimSpace(string(token))
	}
	return was
}

func (s served) write(dir string) error {
	return errors.Join(writeAside(filepath.Join(dir, natsFile), encoded(s)),
		writeAside(filepath.Join(dir, TokenFile), []byte(s.token+"\n")))
}

// writeAside writes a file that only its owner can read. Readers see the old file or the whole new one.
func writeAside(path string, text []byte) error {
	aside := path + ".new"
	if err := os.WriteFile(aside, text, 0o600); err != nil {
		return err
	}
	return os.Rename(aside, path)
}

// removeState removes what Serve made in a state folder, and the folder if nothing else is in it. The mark goes last:
// if the process is killed before that, the folder still counts as ours. The caller holds the mark's lock and releases
// it afterwards.
func removeState(dir string) error {
	errs := []error{os.RemoveAll(filepath.Join(dir, storeDir))}
	for _, name := range []string{natsFile, TokenFile, natsFile + ".new", TokenFile + ".new", markFile} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(dir) // it may have the owner's files
	return errors.Join(errs...)
}
