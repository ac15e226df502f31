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

// A cluster's leftovers are found by its folder: doublegrant-N in the folder for temporary files. The process that made
// the folder holds a lock on it for as long as it lives, however it ends. A folder that can be locked is an orphan if
// it has our mark or is empty. Otherwise it belongs to a user. A container has the folder's path as a label, and other
// labels that identify its owner. Processes need no mark: they die with us.

const folderPrefix = "doublegrant-"

// folderName matches the name of a cluster's folder.
var folderName = regexp.MustCompile(`^` + folderPrefix + `[0-9]+$`)

// Leftover is a temporary folder or a container of a cluster. A current run may use it, or a dead run may have left it
// behind.
type Leftover struct {
	Kind  string // "folder" or "container"
	Name  string // path of the folder, or node and short id of the container
	Run   string // path of the cluster's folder
	Owned bool   // a current run owns the leftover, or may own it; false: the leftover is an orphan

	// Unmarked is set for an Owned folder that is named like a cluster's but lacks our mark. It may belong to a user, or
	// to an older version. It is never removed.
	Unmarked bool

	// ID is the container's id at the platform. Process and Subnet are the fields of Owner for the container. All are
	// empty for a folder.
	ID, Process, Subnet string
}

// Leftovers lists the folders of all clusters on this machine and their hosts on the sites, those of current runs
// included. The error says what could not be read, and the list holds everything else.
func Leftovers(ctx context.Context, sites ...Site) (all []Leftover, err error) {
	var errs []error
	for _, s := range sites {
		found, err := hostLeftovers(ctx, s, subnet{})
		all, errs = append(all, found...), append(errs, err)
	}
	folders, err := folderLeftovers(os.TempDir())
	return append(all, folders...), errors.Join(append(errs, err)...)
}

// RemoveOrphans removes what is left of clusters whose process is gone: their folders, and their hosts on the sites,
// such as containers. It leaves current runs alone. It returns what it removed. The error says what it could not
// remove.
func RemoveOrphans(ctx context.Context, sites ...Site) ([]Leftover, error) {
	return removeOrphans(ctx, sites, subnet{})
}

// removeOrphans does the work of RemoveOrphans. It removes hosts first, since they write into the folders. The
// parameter own is the subnet that the caller has claimed, or the zero value. Hosts in that subnet can be orphans
// although the subnet is locked, since the caller holds that lock.
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
	removed, failed := removeUnowned(folders, func(l Leftover) (bool, error) { return removeOrphanFolder(ctx, l.Name) })
	return removed, errors.Join(err, failed)
}

func removeOrphanHosts(ctx context.Context, s Site, own subnet) (removed []Leftover, err error) {
	hosts, err := hostLeftovers(ctx, s, own)
	removed, failed := removeUnowned(hosts, func(l Leftover) (bool, error) {
		err := s.Remove(ctx, l)
		return err == nil, err
	})
	return removed, errors.Join(err, failed)
}

// removeUnowned calls the given function for each orphan in the list. It returns the orphans that are gone afterwards.
func removeUnowned(all []Leftover, remove func(Leftover) (gone bool, err error)) (removed []Leftover, failed error) {
	for _, l := range all {
		if l.Owned {
			continue
		}
		gone, err := remove(l)
		if gone {
			removed = append(removed, l)
		}
		failed = errors.Join(failed, err)
	}
	return removed, failed
}

func folderLeftovers(in string) ([]Leftover, error) {
	dirs, err := filepath.Glob(filepath.Join(in, folderPrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("cluster: look for leftovers: %w", err)
	}
	var all []Leftover
	for _, dir := range dirs {
		if !folderName.MatchString(filepath.Base(dir)) {
			continue // a user's folder
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

// removeOrphanFolder removes a folder, unless it was locked or removed since it was listed.
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

// hostLeftovers lists the hosts of clusters on the site, and fills in the field Owned of each. For the parameter own
// see removeOrphans.
func hostLeftovers(ctx context.Context, s Site, own subnet) (all []Leftover, err error) {
	found, err := s.Leftovers(ctx)
	for _, l := range found {
		if !filepath.IsAbs(l.Run) || !folderName.MatchString(filepath.Base(l.Run)) {
			continue // another program uses our label
		}
		l.Owned = hostOwned(l, own)
		all = append(all, l)
	}
	return all, err
}
