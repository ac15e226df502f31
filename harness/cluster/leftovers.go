package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// Everything of a cluster is found again by its folder: doublegrant-N in the folder for temporary files. The process
// that made the folder holds a lock on it for as long as it lives, whatever ends it. A folder that can be locked is an
// orphan if it carries our mark or is empty, and somebody's own otherwise. A container carries the folder's path as a
// label, and other signs of its owner. Processes need no mark: they die with us.

const folderPrefix = "doublegrant-"

// folderName is the name of a cluster's folder.
var folderName = regexp.MustCompile(`^` + folderPrefix + `[0-9]+$`)

// Leftover is a temporary folder or a container of a cluster, which a run under way uses or a dead one left.
type Leftover struct {
	Kind  string // "folder" or "container"
	Name  string // path of the folder; node and short id of the container
	Run   string // path of the cluster's folder
	Owned bool   // a run under way owns it, or that cannot be told; false: it is an orphan

	// Unmarked is set for an Owned folder that has only the name of one of ours: it may be somebody's own, or of an
	// older version. It is never removed.
	Unmarked bool

	// of a container: the platform's id, and Process and Subnet of its Owner; empty for a folder
	ID, Process, Subnet string
}

// Leftovers lists the folders of all clusters on this machine and their hosts on the sites, including those of runs
// under way. The error says what could not be looked at; the list holds the rest.
func Leftovers(ctx context.Context, sites ...Site) (all []Leftover, err error) {
	var errs []error
	for _, s := range sites {
		found, err := hostLeftovers(ctx, s, subnet{})
		all, errs = append(all, found...), append(errs, err)
	}
	folders, err := folderLeftovers(os.TempDir())
	return append(all, folders...), errors.Join(append(errs, err)...)
}

// RemoveOrphans removes the folders of clusters whose process is gone, and their hosts on the sites. It leaves runs
// under way alone. It returns what it removed; the error says what it could not remove.
func RemoveOrphans(ctx context.Context, sites ...Site) ([]Leftover, error) {
	return removeOrphans(ctx, sites, subnet{})
}

// removeOrphans does what RemoveOrphans does, hosts first: they write into the folders. own is the subnet that the
// caller holds itself, or the zero value: hosts of a dead owner may be in the same subnet.
func removeOrphans(ctx context.Context, sites []Site, own subnet) (removed []Leftover, err error) {
	var errs []error
	for _, s := range sites {
		gone, err := removeOrphanHosts(ctx, s, own)
		removed, errs = append(removed, gone...), append(errs, err)
	}
	folders, err := removeOrphanFolders(ctx, os.TempDir())
	return append(removed, folders...), errors.Join(append(errs, err)...)
}

// removeOrphanFolders removes the folders in dir whose process is gone.
func removeOrphanFolders(ctx context.Context, dir string) (removed []Leftover, err error) {
	folders, err := folderLeftovers(dir)
	errs := []error{err}
	for _, f := range folders {
		if f.Owned {
			continue
		}
		gone, err := removeOrphanFolder(ctx, f.Name)
		errs = append(errs, err)
		if gone {
			removed = append(removed, f)
		}
	}
	return removed, errors.Join(errs...)
}

func removeOrphanHosts(ctx context.Context, s Site, own subnet) (removed []Leftover, err error) {
	hosts, err := hostLeftovers(ctx, s, own)
	errs := []error{err}
	for _, c := range hosts {
		if c.Owned {
			continue
		}
		if err := s.Remove(ctx, c); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, c)
	}
	return removed, errors.Join(errs...)
}

func folderLeftovers(in string) ([]Leftover, error) {
	dirs, err := filepath.Glob(filepath.Join(in, folderPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("cluster: look for leftovers: %w", err)
	}
	var all []Leftover
	for _, dir := range dirs {
		if !folderName.MatchString(filepath.Base(dir)) {
			continue // somebody's own
		}
		if l, err := folderLeftover(dir); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, l)
		}
	}
	return all, nil
}

func folderLeftover(path string) (Leftover, error) {
	l := Leftover{Kind: "folder", Name: path, Run: path, Owned: true}
	f, err := lockFolder(path)
	if err != nil {
		return l, err
	}
	l.Unmarked = !f.marked() && !f.empty()
	l.Owned = l.Unmarked
	return l, f.lock.Close()
}

// removeOrphanFolder removes a folder unless it got an owner, or vanished, since it was looked at.
func removeOrphanFolder(ctx context.Context, path string) (gone bool, err error) {
	f, err := lockFolder(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errOwned) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return f.removeOurs(ctx)
}

// hostLeftovers lists the hosts of clusters on the site, with Owned set. own is as in removeOrphans.
func hostLeftovers(ctx context.Context, s Site, own subnet) (all []Leftover, err error) {
	found, err := s.Leftovers(ctx)
	for _, l := range found {
		if !filepath.IsAbs(l.Run) || !folderName.MatchString(filepath.Base(l.Run)) {
			continue // somebody else's use of our mark
		}
		l.Owned = hostOwned(l, own)
		all = append(all, l)
	}
	return all, err
}
