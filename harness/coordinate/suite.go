package coordinate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// SuiteOptions say how a suite is coordinated.
type SuiteOptions struct {
	Results string // folder for results folders; default "results"
	Version string // of this program
	Server  string // that all runs have to be made on; empty: on each platform that of the first repetition that was run there

	// End is called for each repetition that has ended, in the order in which they are handed out; may be nil.
	End func(Ended)
}

// Ended is a repetition of a run that has ended.
type Ended struct {
	Done, Of int    // how many have ended, and are to end
	Worker   string // who ran it
	Run      tally.Run
	Why      string // why there is no Run; empty: there is
}

// Suite lets the workers of a queue run a suite, each repetition of each run as a unit of its own. It returns what suite.Merge returns. A
// unit that was given up, or is disputed, makes the suite end early. When ctx is canceled, or the queue cannot be used any more, what has
// come back by then is put together, and the rest is said not to have run; an error is then the queue's.
func Suite(ctx context.Context, q workqueue.Queue, s suite.Suite, o SuiteOptions) (out tally.Suite, dir string, err error) {
	c, err := newCoordinated(s, o)
	if err != nil {
		return out, "", err
	}
	defer func() { err = errors.Join(err, c.remove()) }()
	queueErr := c.putAll(ctx, q)
	for i := range c.shards {
		if queueErr == nil {
			queueErr = c.await(ctx, q, i)
		}
		if queueErr != nil {
			why := "interrupted"
			if ctx.Err() == nil {
				why = oneLine(queueErr)
			}
			if err := c.unrun(i, why, ""); err != nil {
				return out, "", err
			}
		}
	}
	if queueErr == nil {
		queueErr = c.doubt(ctx, q)
	}
	out, dir, err = suite.Merge(context.WithoutCancel(ctx), []string{c.scratch}, o.Results)
	if ctx.Err() == nil {
		err = errors.Join(err, queueErr)
	}
	return out, dir, err
}

// coordinated is a suite under way.
type coordinated struct {
	SuiteOptions
	shards  []suite.Suite
	units   []workqueue.Unit
	scratch string                 // folder of what has come back
	servers map[string]firstServer // that count, by platform
	remove  func() error
}

func newCoordinated(s suite.Suite, o SuiteOptions) (*coordinated, error) {
	c := &coordinated{SuiteOptions: o, servers: map[string]firstServer{}}
	text, err := s.Encode()
	if err != nil {
		return nil, err
	}
	// The workers split what they read, and results are checked against the same.
	if s, err = suite.Decode(text); err != nil {
		return nil, fmt.Errorf("coordinate: a defect of doublegrant: a suite that cannot be passed on: %w", err)
	}
	n := s.Repetitions()
	for i := range n {
		of := tally.Shard{Number: i + 1, Of: n}
		shard, err := s.Shard(of)
		if err != nil {
			return nil, err
		}
		u, err := newUnit(KindRun, o.Version, o.Server, runUnit{string(text), of})
		if err != nil {
			return nil, err
		}
		c.shards, c.units = append(c.shards, shard), append(c.units, u)
	}
	folder, remove, err := cluster.TempFolder()
	c.scratch, c.remove = filepath.Join(folder, "shards"), remove
	if err == nil {
		err = os.Mkdir(c.scratch, 0o755)
	}
	return c, err
}

func (c *coordinated) putAll(ctx context.Context, q workqueue.Queue) error {
	for _, u := range c.units {
		if err := q.Put(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

func (c *coordinated) folder(i int) string { return filepath.Join(c.scratch, fmt.Sprint(i+1)) }

// await waits for the outcome of unit i and writes it into its folder. The error is the queue's, or this machine's.
func (c *coordinated) await(ctx context.Context, q workqueue.Queue, i int) error {
	o, err := q.Await(ctx, c.units[i].ID())
	if err != nil {
		return err
	}
	if o.GivenUp() {
		return c.unrun(i, fmt.Sprintf("given up after %d tries: %s", len(o.Failed), o.Why()), o.Worker)
	}
	var runs []tally.Run
	err = unpack(o.Body, c.folder(i))
	if err == nil {
		runs, err = c.shards[i].CheckReturned(c.folder(i), c.Version)
	}
	if err == nil {
		err = c.sameServers(c.folder(i), o.Worker)
	}
	if err != nil { // whatever a worker sends, the others go on
		why := fmt.Sprintf("what %s returned cannot be used: %s", o.Worker, oneLine(err))
		return errors.Join(os.RemoveAll(c.folder(i)), c.unrun(i, why, o.Worker))
	}
	for _, run := range runs {
		c.tell(Ended{Done: i + 1, Of: len(c.units), Worker: o.Worker, Run: run})
	}
	return nil
}

// firstServer is what runs on a platform have to be made on, and whose that is.
type firstServer struct{ server, worker string }

// sameServers returns an error if a shard was run on other servers than those before: their figures do not belong into one table. The first
// repetition on each platform says which servers count, in the order in which they are handed out, so that a coordinator that goes on comes to the
// same.
func (c *coordinated) sameServers(dir, worker string) error {
	servers, err := suite.Servers(dir)
	if err != nil {
		return err
	}
	for _, platform := range slices.Sorted(maps.Keys(servers)) {
		if first, known := c.servers[platform]; known && first.server != servers[platform] {
			return fmt.Errorf("it was run on %.100s, and what %s has run, on %.100s: let all workers have one", servers[platform], first.worker, first.server)
		}
	}
	for platform, server := range servers {
		if _, known := c.servers[platform]; !known {
			c.servers[platform] = firstServer{server, worker}
		}
	}
	return nil
}

// unrun notes that unit i did not run.
func (c *coordinated) unrun(i int, why, worker string) error {
	if err := c.shards[i].WriteUnrun(c.folder(i), c.Version, why); err != nil {
		return err
	}
	c.tell(Ended{Done: i + 1, Of: len(c.units), Worker: worker, Run: tally.Run{Name: c.shards[i].Runs[0].Title}, Why: why})
	return nil
}

func (c *coordinated) tell(e Ended) {
	if c.End != nil {
		c.End(e)
	}
}

// doubt notes which units are disputed.
func (c *coordinated) doubt(ctx context.Context, q workqueue.Queue) error {
	ids, err := q.Disputed(ctx)
	if err != nil {
		return err
	}
	for i, u := range c.units {
		if slices.Contains(ids, u.ID()) {
			if err := suite.Doubt(c.folder(i), disputed("runs", []string{u.ID()}).Error()); err != nil {
				return err
			}
		}
	}
	return nil
}

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
