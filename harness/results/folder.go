package results

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
)

// resultsDir makes a new folder for a run and writes the plan into it.
func resultsDir(root string, p plan.Plan) (string, error) {
	dir, err := NewFolder(root, p.Name())
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir, nodesDir), 0o755); err != nil {
		return "", err
	}
	return dir, p.Write(dir)
}

func rootOf(root string) string { return cmp.Or(root, "results") }

// Root creates the folder for all results if it does not exist, and returns its path: root, or by default "results".
// The error wraps plan.ErrUsage if another folder may help.
func Root(root string) (string, error) {
	root = rootOf(root)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", noRoot(root, err)
	}
	return root, nil
}

// checkRoot returns an error if root, or what should be a folder above it, is a file. It creates nothing. The error
// wraps plan.ErrUsage.
func checkRoot(root string) error {
	root = rootOf(root)
	info, err := os.Stat(root)
	switch {
	case err == nil && !info.IsDir():
		return noRoot(root, syscall.ENOTDIR)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return noRoot(root, err)
	}
	return nil
}

func noRoot(root string, err error) error {
	// the user needs space, not another folder
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EIO) {
		return fmt.Errorf("results cannot be kept in %s: %w", root, err)
	}
	return plan.Usagef("results cannot be kept in %s: %w: give another folder with --results", root, err)
}

// NewFolder makes a new folder in root (default "results"). The folder is named after the current time and the given
// name. If there is a folder with that name, a number is added. The error wraps plan.ErrUsage if another root may help.
func NewFolder(root, name string) (dir string, err error) {
	if root, err = Root(root); err != nil {
		return "", err
	}
	base := filepath.Join(root, time.Now().Format("20060102-150405-")+plan.FileName(name))
	dir = base
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", noRoot(root, err)
		}
		dir = fmt.Sprintf("%s-%d", base, n)
	}
}

// LinkLatest points the link Latest, beside dir, to dir.
func LinkLatest(dir string) error {
	link := filepath.Join(filepath.Dir(dir), Latest)
	// several runs may end at the same time
	fresh := filepath.Join(filepath.Dir(dir), "."+Latest+"-"+filepath.Base(dir))
	if err := os.Symlink(filepath.Base(dir), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, link); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}
