package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// errOwned says that another process holds a folder's lock.
var errOwned = errors.New("a run under way owns it")

// markName is the name of the file that marks a folder as ours. Without the mark, a folder that is named like ours may
// be a user's.
const markName = ".doublegrant"

const markText = "A temporary folder of doublegrant. Once its run is gone, any later one removes it with all that is " +
	"in it.\n"

// folder is a cluster's temporary folder. The kernel releases the folder's lock when the owner dies. Programs that
// remove old temporary files leave locked folders alone if they respect such locks, as systemd-tmpfiles does.
type folder struct {
	path     string
	lock     *os.File
	watchdog RunningWatchdog // the zero value if another process has made the folder
}

// removeWithin bounds the removal of a cluster's leftovers. Tenths of a second are usual.
const removeWithin = 30 * time.Second

// newFolder makes a folder in dir and locks it. The watchdog starts before the folder exists, so that the folder is
// never without one.
func newFolder(dir string) (*folder, error) {
	tmp, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for {
		path := filepath.Join(tmp, folderPrefix+strconv.FormatUint(uint64(rand.Uint32()), 10))
		watchdog, err := watchFolder(path)
		if err != nil {
			return nil, err
		}
		f, err := makeFolder(path)
		if err == nil {
			f.watchdog = watchdog
			return f, nil
		}
		watchdog.Dismiss()
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// TempFolder makes a temporary folder for something other than a cluster. Like a cluster's folder it does not outlive
// this process, however the process ends. The function that it returns removes the folder with its content.
func TempFolder() (path string, remove func() error, err error) { return tempFolder(os.TempDir()) }

// TempFolderIn is TempFolder in the folder dir, which must exist. It also removes what dead processes have left there.
func TempFolderIn(dir string) (path string, remove func() error, err error) {
	if _, err := removeOrphanFolders(context.Background(), dir); err != nil {
		return "", nil, err
	}
	return tempFolder(dir)
}

func tempFolder(dir string) (path string, remove func() error, err error) {
	f, err := newFolder(dir)
	if err != nil {
		return "", nil, err
	}
	return f.path, func() error { return f.remove(context.Background()) }, nil
}

// makeFolder makes the folder, locks it and marks it. The error wraps fs.ErrExist if the folder exists already. It also
// wraps fs.ErrExist if another process removed the new folder as an orphan before it was locked.
func makeFolder(path string) (*folder, error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var f *folder
	// a process that looks for orphans holds the lock for a moment
	err := await.Until(ctx, time.Millisecond, func() (err error) {
		if f, err = lockFolder(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", await.ErrGaveUp, fs.ErrExist)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(path, markName), []byte(markText), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: mark %s: %w", path, err), f.remove(ctx))
	}
	return f, nil
}

// lockFolder takes the lock of an existing folder. The error wraps errOwned if another process holds it, and
// fs.ErrNotExist if the folder is gone.
func lockFolder(path string) (*folder, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("cluster: lock %s: %w", path, errOwned)
		}
		return nil, fmt.Errorf("cluster: lock %s (take a folder of a local disk: set TMPDIR, or --results): %w",
			path, err)
	}
	mine, err1 := file.Stat()
	there, err2 := os.Stat(path)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !os.SameFile(mine, there) {
		_ = file.Close()
		return nil, fmt.Errorf("cluster: lock %s: it was replaced: %w", path, errOwned)
	}
	return &folder{path: path, lock: file}, nil
}

// folderOwned reports whether a current run owns the folder, or may own it. If it returns true, the error says why:
// another process holds the folder's lock, or the folder cannot be read. For a folder that does not exist, the result
// is true and the error wraps fs.ErrNotExist.
func folderOwned(path string) (bool, error) {
	f, err := lockFolder(path)
	if err != nil {
		return true, err
	}
	return false, f.lock.Close()
}

// marked reports whether the folder carries our mark.
func (f *folder) marked() bool {
	info, err := os.Lstat(filepath.Join(f.path, markName))
	return err == nil && info.Mode().IsRegular()
}

// empty reports whether the folder is empty. An empty folder may be ours: its maker may have died before it wrote the
// mark.
func (f *folder) empty() bool {
	entries, err := os.ReadDir(f.path)
	return err == nil && len(entries) == 0
}

// removeOurs removes a marked folder with its content. An unmarked folder is removed only if it is empty: otherwise it
// belongs to a user. The lock is released.
func (f *folder) removeOurs(ctx context.Context) (gone bool, err error) {
	if f.marked() {
		err = f.remove(ctx)
		return err == nil, err
	}
	err = os.Remove(f.path)
	gone = err == nil
	if errors.Is(err, fs.ErrExist) { // ENOTEMPTY is one
		err = nil
	}
	return gone, errors.Join(err, f.lock.Close())
}

// remove removes the folder with its content, and releases its lock. It retries, since dying nodes may still write to
// the folder.
func (f *folder) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	err := await.Until(ctx, 20*time.Millisecond, f.removeMarkLast)
	if err == nil {
		f.watchdog.Dismiss()
	}
	return errors.Join(err, f.lock.Close())
}

// removeMarkLast removes the folder, its mark last: if we are killed in between, the rest can still be recognized as
// ours.
func (f *folder) removeMarkLast() error {
	entries, _ := os.ReadDir(f.path) // the last removal says what is wrong
	for _, e := range entries {
		if e.Name() == markName {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.path, e.Name())); err != nil {
			return err
		}
	}
	return os.RemoveAll(f.path)
}
