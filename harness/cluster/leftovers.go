package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/moby/moby/client"
)

// Everything of a cluster is found again by its folder: doublegrant-N in the folder for temporary files. Who made it
// holds a lock on it for as long as it lives, whatever ends it; a folder that can be locked is an orphan's if it carries
// our mark, and else somebody's own. A container carries the folder's path as a label, and other signs of its owner.
// Processes need no mark: they die with us.

const folderPrefix = "doublegrant-"

// folderName is the name of a cluster's folder.
var folderName = regexp.MustCompile(`^` + folderPrefix + `[0-9]+$`)

// Leftover is what clusters leave on the machine while they run: a temporary folder or a container.
type Leftover struct {
	Kind  string // "folder" or "container"
	Name  string // path of the folder; node and short id of the container
	Run   string // path of the cluster's folder
	Owned bool   // by a run under way, or it cannot be told; else it is an orphan

	// Unmarked says of an Owned folder that it has only the name of one of ours: it may be somebody's own, or of an older
	// version. It is never removed.
	Unmarked bool

	id, owner, subnet string // of a container: its id, and its labels
}

// Leftovers lists the folders and containers of all clusters on this machine, those of runs under way among them. The
// error says what could not be looked at; without Docker there are no containers, and no error.
func Leftovers(ctx context.Context) ([]Leftover, error) {
	folders, err := folderLeftovers()
	d, noDocker := findDaemon(ctx)
	if noDocker != nil {
		return folders, err
	}
	containers, err2 := d.leftovers(ctx, subnet{})
	return append(containers, folders...), errors.Join(err, err2)
}

// RemoveOrphans removes the containers and folders of clusters whose process is gone, and nothing of one under way. It
// returns what it removed; the error says what it could not.
func RemoveOrphans(ctx context.Context) ([]Leftover, error) {
	d, noDocker := findDaemon(ctx)
	if noDocker != nil {
		d = nil
	}
	return removeOrphans(ctx, d, subnet{})
}

// removeOrphans removes containers first: they write into the folders. d is nil where there is no Docker. own is the
// subnet that the caller holds itself, if any: containers of a dead owner may have been given the same.
func removeOrphans(ctx context.Context, d *daemon, own subnet) (removed []Leftover, err error) {
	var errs []error
	if d != nil {
		removed, err = d.removeOrphans(ctx, own)
		errs = append(errs, err)
	}
	folders, err := folderLeftovers()
	errs = append(errs, err)
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

func (d *daemon) removeOrphans(ctx context.Context, own subnet) (removed []Leftover, err error) {
	containers, err := d.leftovers(ctx, own)
	errs := []error{err}
	for _, c := range containers {
		if c.Owned {
			continue
		}
		if err := d.remove(ctx, c.Name, c.id); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, c)
	}
	return removed, errors.Join(errs...)
}

func folderLeftovers() ([]Leftover, error) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
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

// leftovers lists the containers that carry our label, and says which are owned. own is as in removeOrphans.
func (d *daemon) leftovers(ctx context.Context, own subnet) ([]Leftover, error) {
	all, err := d.labelled(ctx)
	for i := range all {
		all[i].Owned = containerOwned(all[i], own)
	}
	return all, err
}

// labelled lists the containers that carry our label, whoever owns them.
func (d *daemon) labelled(ctx context.Context) ([]Leftover, error) {
	found, err := ask(ctx, findWithin, func(ctx context.Context) (client.ContainerListResult, error) {
		return d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", label)})
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: docker: list containers: %w", err)
	}
	var all []Leftover
	for _, c := range found.Items {
		run := c.Labels[label]
		if !filepath.IsAbs(run) || !folderName.MatchString(filepath.Base(run)) {
			continue // somebody else's use of the label
		}
		all = append(all, Leftover{
			Kind: "container", Name: fmt.Sprintf("%s (%.12s)", c.Labels[nodeLabel], c.ID), Run: run,
			id: c.ID, owner: c.Labels[ownerLabel], subnet: c.Labels[subnetLabel],
		})
	}
	return all, nil
}

// removeContainers removes what is left of a cluster's containers, those that were still being made when their maker
// gave up or died included: it looks until there are none for as long as quiet.
func (d *daemon) removeContainers(ctx context.Context, folder string, quiet time.Duration) error {
	const every = 100 * time.Millisecond
	clear := time.Now()
	return await(ctx, every, func() error {
		found, err := d.labelled(ctx)
		left := err != nil
		for _, c := range found {
			if c.Run == folder {
				left = true
				err = errors.Join(err, d.remove(ctx, c.Name, c.id))
			}
		}
		if left {
			clear = time.Now()
		}
		if err == nil && time.Since(clear) < quiet {
			err = errors.New("cluster: docker: containers may still appear")
		}
		return err
	})
}
