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

// Collection puts together what came of the repetitions of a suite on other machines: the results folder that one machine would have
// written. Until it is whole it lies in a temporary folder beside its later place, which goes with this process.
type Collection struct {
	suite   Suite
	all     []Repetition
	root    string
	scratch string
	remove  func() error
	head    recordHead
	runs    []collected
	servers map[string]madeOn // by platform
	ended   []string
}

// collected is a run, and the folder that its command names.
type collected struct {
	tally.Run
	number int // of the repetition, from 0
	folder string
}

// madeOn is what the first repetition on a platform was made on, and whose that is.
type madeOn struct{ server, worker string }

// Collect begins a collection in root (default "results"), where the results folder will be. version is that of this program. The caller
// calls Close. The error wraps plan.ErrUsage if results cannot be kept there.
func (s Suite) Collect(root, version string) (*Collection, error) {
	head, err := s.head(Options{Version: version})
	if err != nil {
		return nil, err
	}
	c := &Collection{suite: s, all: s.Repetitions(), root: root, head: head, servers: map[string]madeOn{}}
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

// Close removes what is not whole.
func (c *Collection) Close() error { return c.remove() }

func (c *Collection) dir() string { return filepath.Join(c.scratch, "suite") }

// Folder returns the folder that takes what repetition i has left. It is made by whoever fills it.
func (c *Collection) Folder(i int) string { return filepath.Join(c.dir(), runFolder(i)) }

// runFolder names the folder of a repetition in that of the suite.
func runFolder(i int) string { return fmt.Sprintf("run-%d", i+1) }

// Check returns an error unless what a worker says it made can be repetition i, and was made on the servers of those before: their figures
// do not belong into one table. The first repetition on each platform says which servers count.
func (c *Collection) Check(i int, m Made, worker string) error {
	switch r := m.Run; {
	case r.Name != c.all[i].Title:
		return fmt.Errorf("suite: it is the run %.60q, not %.60q", r.Name, c.all[i].Title)
	case r.Ending == tally.NotRun:
		return errors.New("suite: it did not run to its end")
	case r.Link != "" && !filepath.IsLocal(filepath.FromSlash(r.Link)):
		return errors.New("suite: its report is not in its folder")
	}
	for _, platform := range slices.Sorted(maps.Keys(m.Servers)) {
		if first, known := c.servers[platform]; known && first.server != m.Servers[platform] {
			return fmt.Errorf("it was run on %.100s, and what %s has run, on %.100s: let all workers have one", m.Servers[platform], first.worker, first.server)
		}
	}
	for platform, server := range m.Servers {
		if _, known := c.servers[platform]; !known {
			c.servers[platform] = madeOn{server, worker}
		}
	}
	return nil
}

// Add adds what a worker made of repetition i, whose folder is filled, and returns it as it stands in the results.
func (c *Collection) Add(i int, m Made, worker string) tally.Run {
	r := m.Run
	r.Pass, r.Expected, r.Worker = 1, c.head.expected(r.Name), worker
	r.Process = tally.Sample{At: time.Since(c.head.Started)} // processes of several machines have no common curve
	if r.Link != "" {
		r.Link = path.Join(runFolder(i), r.Link)
	}
	c.runs = append(c.runs, collected{r, i, m.Folder})
	return r
}

// Missing notes why repetition i is not there: the suite ended early.
func (c *Collection) Missing(i int, why string) tally.Run {
	r := c.all[i]
	name := r.Title
	if len(c.suite.Runs) < len(c.all) {
		name = fmt.Sprintf("%s, repetition %d", name, r.Turn+1)
	}
	c.Doubt(fmt.Sprintf("%s: %s", name, why))
	return tally.Run{Name: r.Title, Why: why}
}

// Doubt notes why the whole cannot be relied on: the suite ended early.
func (c *Collection) Doubt(why string) { c.ended = append(c.ended, why) }

// mostReasons bounds the reasons for an early end that are named.
const mostReasons = 5

// why says why the suite ended early; empty: it did not.
func (c *Collection) why() string {
	named := slices.Compact(slices.Clone(c.ended))
	if more := len(named) - mostReasons; more > 0 {
		named = append(named[:mostReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, "; ")
}

// Finish writes the results folder, and returns what came of the suite, and the folder. ready is called with its path just before it is there;
// may be nil.
func (c *Collection) Finish(ready func(dir string) error) (out tally.Suite, dir string, err error) {
	if dir, err = results.NewFolder(c.root, c.suite.folderName()); err != nil {
		return out, "", err
	}
	err = c.write(dir)
	if err == nil && ready != nil {
		err = ready(dir)
	}
	if err == nil {
		err = syscall.Rename(c.dir(), dir) // an empty folder gives way, which it does not to os.Rename
	}
	if err != nil {
		return out, "", errors.Join(fmt.Errorf("results cannot be kept in %s: %w", c.root, err), os.RemoveAll(dir))
	}
	out, err = Report(dir)
	return out, dir, errors.Join(err, results.Relink(dir))
}

// write writes the record of the suite whose folder will be dir.
func (c *Collection) write(dir string) error {
	c.head.Folder, c.head.Servers = dir, map[string]string{}
	for platform, on := range c.servers {
		c.head.Servers[platform] = on.server
	}
	out := tally.Suite{Ended: c.why()}
	c.head.begin(&out)
	record, err := newRecord(c.dir(), c.head)
	if err != nil {
		return err
	}
	for _, run := range c.runs {
		run.Command = withFolder(run.Command, run.folder, filepath.Join(dir, runFolder(run.number)))
		line := recordLine{Run: &run.Run}
		if err := errors.Join(line.addTo(&out), record.write(line)); err != nil {
			return errors.Join(err, record.file.Close())
		}
	}
	return record.end(recordEnd{time.Since(c.head.Started), out.Ending(), out.Ended})
}

// expected says what is expected of a case.
func (h recordHead) expected(name string) string {
	for _, c := range h.Cases {
		if c.Name == name {
			return c.Expected
		}
	}
	return ""
}
