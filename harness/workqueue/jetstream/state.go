package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Files in the state folder.
const (
	markFile = ".doublegrant-nats" // says that the folder is ours: what else is named here may be removed
	lockFile = "lock"
	natsFile = "nats.json" // address
	// TokenFile has the token alone, for workers. Only its owner can read it.
	TokenFile = "token"
	storeDir  = "jetstream"
)

// ErrFolder says that a folder cannot be a state folder, since what somebody else keeps there has the names of our files.
var ErrFolder = errors.New("the state folder has files of somebody else's")

// claim makes the state folder, and marks it as ours.
func claim(dir string) error {
	mark := filepath.Join(dir, markFile)
	if _, err := os.Lstat(mark); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	for _, name := range []string{lockFile, natsFile, TokenFile, storeDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %s: name another folder with --state", ErrFolder, filepath.Join(dir, name))
		}
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	return nil
}

// served is what the state folder keeps of a server, so that it comes back at the same address.
type served struct {
	Listen string `json:"listen"`
	token  string // in a file of its own
}

// readServed reads what was served from a folder. What cannot be read is made anew.
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
	return errors.Join(writeAside(filepath.Join(dir, natsFile), encoded(s)), writeAside(filepath.Join(dir, TokenFile), []byte(s.token+"\n")))
}

// writeAside writes a file that only its owner can read, so that whoever reads it finds it whole.
func writeAside(path string, text []byte) error {
	aside := path + ".new"
	if err := os.WriteFile(aside, text, 0o600); err != nil {
		return err
	}
	return os.Rename(aside, path)
}

// RemoveState removes what Serve has made in a state folder, and the folder if nothing else is in it. The server has stopped. The mark goes
// last: whoever is killed in between leaves a folder that is ours.
func RemoveState(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, markFile)); err != nil {
		return nil // it is not ours
	}
	errs := []error{os.RemoveAll(filepath.Join(dir, storeDir))}
	for _, name := range []string{natsFile, TokenFile, natsFile + ".new", TokenFile + ".new", lockFile, markFile} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(dir) // it may have files of its owner's
	return errors.Join(errs...)
}
