package suite

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// resultsDir makes a fresh folder for a run, with its plan in it.
func resultsDir(root string, p Plan) (string, error) {
	dir, err := makeResultsDir(root, p.Name())
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, nodesDir), 0o755); err != nil {
		return "", err
	}
	return dir, p.write(dir)
}

// makeResultsDir makes a fresh folder in root, named after the time and name.
func makeResultsDir(root, name string) (dir string, err error) {
	root = cmp.Or(root, "results")
	base := filepath.Join(root, time.Now().Format("20060102-150405-")+fileName(name))
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", usage("results cannot be kept in %s: %w", root, err)
	}
	dir = base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", usage("results cannot be kept in %s: %w", root, err)
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// relink makes results/latest lead to dir.
func relink(dir string) error {
	link := filepath.Join(filepath.Dir(dir), latest)
	fresh := filepath.Join(filepath.Dir(dir), "."+latest+"-"+filepath.Base(dir)) // runs may end side by side
	if err := os.Symlink(filepath.Base(dir), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, link); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}
