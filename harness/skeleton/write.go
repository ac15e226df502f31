package skeleton

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Write writes files into the folder dir, and creates dir if necessary. If dir already has one of the files, Write
// writes nothing. After an error Write removes the files and folders that it has made.
func Write(dir string, files []File) (err error) {
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.Name)); err == nil {
			there = append(there, f.Name)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("%s already has %s", dir, strings.Join(there, ", "))
	}
	var made []string // files and folders, in order
	defer func() {
		if err != nil {
			for _, name := range slices.Backward(made) {
				err = errors.Join(err, os.Remove(name))
			}
		}
	}()
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		folders, err := makeFolder(filepath.Dir(name))
		if made = append(made, folders...); err != nil {
			return err
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		made = append(made, name)
		_, err = file.Write(f.Text)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder creates a folder and the missing folders above it. It returns the folders that it has created, the topmost
// first.
func makeFolder(dir string) (made []string, err error) {
	switch info, err := os.Stat(dir); {
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, &os.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if above := filepath.Dir(dir); above != dir {
		if made, err = makeFolder(above); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}
