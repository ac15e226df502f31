package suite

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// Collection assembles the results of a suite whose repetitions ran on other machines. Finish makes the results folder
// that one machine would have written. Until then all files are in a temporary folder beside it, which Close removes.
type Collection struct {
	suite   Suite
	all     []Repetition
	root    string
	scratch string
	remove  func() error
	head    recordHead
	runs    []collected
	servers map[string]platformServer // server of each platform
	ended   []string
}

// collected is the result of a repetition.
type collected struct {
	tally.Run
	number int    // number of the repetition, from 0
	folder string // path of the run's files on the worker's machine, as in the run's Command
}

// platformServer is the server of the first repetition on a platform, and the worker that ran it.
type platformServer struct{ server, worker string }

// Collect begins a collection in root (default "results"), where the results folder will be. version is this program's
// version. The caller calls Close. The error wraps plan.ErrUsage if results cannot be kept there.
func (s Suite) Collect(root, version string) (*Collection, error) {
	head, err := s.head(Options{Version: version})
	if err != nil {
		return nil, err
	}
	c := &Collection{suite: s, all: s.Repetitions(), root: root, head: head, servers: map[string]platformServer{}}
	if c.root, err = results.Root(root); err != nil {
		return nil, err
	}
	c.scratch, c.remove, err = cluster.TempFolderIn(c.root)
	if err == nil {
		err = os.Mkdir(c.dir(), 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("results cannot be kept in %s: %w", c.root, err)
	}
	return c, nil
}

// Close removes what Finish did not publish.
func (c *Collection) Close() error { return c.remove() }

func (c *Collection) dir() string { return filepath.Join(c.scratch, "suite") }

// Folder returns the folder for the files of repetition i. The caller creates and fills it.
func (c *Collection) Folder(i int) string { return filepath.Join(c.dir(), runFolder(i)) }

// runFolder returns the name of a repetition's folder within the suite's folder.
func runFolder(i int) string { return fmt.Sprintf("run-%d", i+1) }

// Check returns an error if a worker's result cannot be that of repetition i, or was made on another server than
// earlier results. Figures of different servers do not belong in one table. The first repetition on each platform sets
// the server.
func (c *Collection) Check(i int, m RemoteResult, worker string) error {
	switch r := m.Run; {
	case r.Name != c.all[i].Title:
		return fmt.Errorf("suite: this is the run %.60q instead of %.60q", r.Name, c.all[i].Title)
	case r.Ending == tally.NotRun:
		return errors.New("suite: the run ended early")
	case r.Link != "" && !filepath.IsLocal(filepath.FromSlash(r.Link)):
		return errors.New("suite: the run's folder has no report")
	}
	for _, platform := range slices.Sorted(maps.Keys(m.Servers)) {
		if first, known := c.servers[platform]; known && first.server != m.Servers[platform] {
			return fmt.Errorf("it ran on %.100s, and the units of %s on %.100s: give all workers the same server",
				m.Servers[platform], first.worker, first.server)
		}
	}
	for platform, server := range m.Servers {
		if _, known := c.servers[platform]; !known {
			c.servers[platform] = platformServer{server, worker}
		}
	}
	return nil
}

// Add adds a worker's result of repetition i. The caller has filled the repetition's folder. It returns the run as it
// stands in the results.
func (c *Collection) Add(i int, m RemoteResult, worker string) tally.Run {
	r := m.Run
	r.Pass, r.Expected, r.Worker = 1, c.head.expected(r.Name), worker
	r.Process = tally.Sample{At: time.Since(c.head.Started)} // processes of several machines have no common curve
	if r.Link != "" {
		r.Link = path.Join(runFolder(i), r.Link)
	}
	c.runs = append(c.runs, collected{r, i, m.Folder})
	return r
}

// Missing records why repetition i did not run. After that the suite counts as ended early.
func (c *Collection) Missing(i int, why string) tally.Run {
	r := c.all[i]
	name := r.Title
	if len(c.suite.Runs) < len(c.all) {
		name = fmt.Sprintf("%s, repetition %d", name, r.Turn+1)
	}
	c.MarkIncomplete(fmt.Sprintf("%s: %s", name, why))
	return tally.Run{Name: r.Title, Why: why}
}

// MarkIncomplete records why the suite's results are incomplete. After that the suite counts as ended early.
func (c *Collection) MarkIncomplete(why string) { c.ended = append(c.ended, why) }

// mostReasons bounds how many reasons for an early end are named.
const mostReasons = 5

// why returns the reason for an early end; empty: the suite did not end early.
func (c *Collection) why() string {
	named := slices.Compact(slices.Clone(c.ended))
	if more := len(named) - mostReasons; more > 0 {
		named = append(named[:mostReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, "; ")
}

// Finish writes the results folder, and returns the suite's results and the folder. The function ready is called with
// the folder's path just before the folder appears; it may be nil.
func (c *Collection) Finish(ready func(dir string) error) (out tally.Suite, dir string, err error) {
	if dir, err = results.NewFolder(c.root, c.suite.folderName()); err != nil {
		return out, "", err
	}
	err = c.write(dir)
	if err == nil && ready != nil {
		err = ready(dir)
	}
	if err == nil {
		err = syscall.Rename(c.dir(), dir) // Rename itself replaces an empty folder; os.Rename refuses to
	}
	if err != nil {
		return out, "", errors.Join(fmt.Errorf("results cannot be kept in %s: %w", c.root, err), os.RemoveAll(dir))
	}
	out, err = Report(dir)
	return out, dir, errors.Join(err, results.LinkLatest(dir))
}

// write writes the record of the suite whose folder will be dir.
func (c *Collection) write(dir string) error {
	c.head.Folder, c.head.Servers = dir, map[string]string{}
	for platform, on := range c.servers {
		c.head.Servers[platform] = on.server
	}
	var runs []tally.Run
	for _, run := range c.runs {
		run.Command = withFolder(run.Command, run.folder, filepath.Join(dir, runFolder(run.number)))
		runs = append(runs, run.Run)
	}
	return writeRecord(c.dir(), c.head, runs, recordEnd{At: time.Since(c.head.Started), Reason: c.why()})
}

// expected returns the expectation of the case with the given name.
func (h recordHead) expected(name string) string {
	for _, c := range h.Cases {
		if c.Name == name {
			return c.Expected
		}
	}
	return ""
}
