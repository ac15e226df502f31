package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// coordinateFlags say which workers share a suite or a search, and within which limits.
type coordinateFlags struct {
	natsFlags
	workers    int           // number of workers in this process
	lease      time.Duration // how long a worker may be silent before its unit goes to another worker
	storeLimit int           // largest amount of data in the NATS, in MiB; 0: only the server's own limit applies
}

// natsFlags say which NATS is used: an external one, whose URL is in the field nats, or one that this process starts.
// The latter listens at the address in the field listen, and has its data in the folder in the field state.
type natsFlags struct {
	accessFlags
	listen, nats, state string
}

// ofCoordinations is the group of the coordinateFlags in help texts.
var ofCoordinations = flagGroup{"Workers", []string{
	"workers", "listen", "nats", "name", "state", "token-file", "credentials", "tls-ca", "lease", "store-limit",
	"give-up-after",
}}

const maxLocalWorkers = 64

// natsOnlyFlags lists the flags that have no effect if all workers are in this process. externalNATSFlags lists the
// flags that have no effect if this process starts the NATS.
var (
	natsOnlyFlags = []string{"name", "state", "token-file", "credentials", "tls-ca", "lease", "store-limit",
		"give-up-after"}
	externalNATSFlags = []string{"token-file", "credentials", "tls-ca"}
)

// anyChanged returns the name of the first listed flag that the user gave; empty: the user gave none.
func anyChanged(cmd *cobra.Command, names []string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func (a *app) coordinateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "coordinate",
		Short: "spread a suite or a search over workers, on this machine or on many",
		Long: `Hands the runs of a suite, or the pieces of a search, to workers (doublegrant work), and puts their results
into one folder. The workers meet at a NATS server, which coordinate starts unless --nats names one. With --workers
alone the workers are part of this process, and nothing listens on the network.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.coordinateSuiteCommand(), a.coordinateExploreCommand())
	return cmd
}

func (f *coordinateFlags) add(cmd *cobra.Command) {
	f.accessFlags.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0,
		"workers in this process; without --listen and --nats there are no others")
	flags.StringVar(&f.listen, "listen", "127.0.0.1",
		"address, with or without a port, on which a NATS server started here listens for workers")
	flags.StringVar(&f.nats, "nats", "",
		"URL of a running NATS server with JetStream to use instead of starting one; several separated by commas")
	flags.StringVar(&f.state, "state", "",
		"folder in which a NATS server started here keeps its store and token until the end (default: "+
			".doublegrant/NAME)")
	flags.DurationVar(&f.lease, "lease", workqueue.DefaultLease,
		"how long a worker may be silent before its unit goes to another worker")
	flags.IntVar(&f.storeLimit, "store-limit", 0,
		"MiB that units and results may take up in NATS (default: only the server's own limit)")
}

func (f *coordinateFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case changed("workers") && (f.workers < 1 || f.workers > maxLocalWorkers):
		return usage("--workers %d: ask for 1 to %d", f.workers, maxLocalWorkers)
	case f.inProcess(cmd) && anyChanged(cmd, natsOnlyFlags) != "":
		return usage("--%s needs a NATS server, and --workers alone uses none: leave it out, or add --listen or "+
			"--nats", anyChanged(cmd, natsOnlyFlags))
	case f.lease < 3*time.Second:
		return usage("--lease %v: workers report once a second: ask for 3s or more", f.lease)
	case f.storeLimit < 0:
		return usage("--store-limit %d: ask for 0 MiB or more", f.storeLimit)
	}
	return f.natsFlags.check(cmd)
}

// check refuses flags that contradict each other.
func (f *natsFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.nats == "" && anyChanged(cmd, externalNATSFlags) != "":
		return usage("--%s needs a running NATS server: name it with --nats, or leave --%[1]s out",
			anyChanged(cmd, externalNATSFlags))
	case f.nats != "" && changed("listen"):
		return usage("--listen is for a NATS server started here, and --nats names a running one: leave one of them " +
			"out")
	case f.nats != "" && changed("state"):
		return usage("--state is for a NATS server started here, and --nats names a running one: leave one of them out")
	case f.patience <= 0:
		return usage("--give-up-after %v: ask for more than 0", f.patience)
	}
	return asFleetUsage(jetstream.CheckName(f.name))
}

// inProcess reports whether all workers are in this process.
func (f *coordinateFlags) inProcess(cmd *cobra.Command) bool {
	return f.workers > 0 && f.nats == "" && !cmd.Flags().Changed("listen")
}

// coordinated is a suite or a search that workers do.
type coordinated struct {
	// do hands the suite or search to the workers of q. It returns when they have done everything, or when ctx is
	// canceled. It calls ready with the path of the results folder, once all of its files are written.
	do func(ctx context.Context, q workqueue.Queue, seed uint64, ready func(dir string) error) error

	// show prints the results in dir, which an earlier coordinator wrote before it was killed. It returns false if dir has
	// no results.
	show func(dir string) (bool, error)
}

// coordinate lets workers do a suite or a search: workers in this process, or workers that join over NATS.
func (a *app) coordinate(cmd *cobra.Command, f *coordinateFlags, head jetstream.Head, work *coordinate.Work,
	do coordinated) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if f.inProcess(cmd) {
		if _, err := takeToken(); err != nil {
			return err
		}
		return a.runLocally(cmd.Context(), f.workers, f.lease, work,
			func(ctx context.Context, q workqueue.Queue) error {
				return do.do(ctx, q, head.Seed, nil)
			})
	}
	access, server, err := a.natsFor(&f.natsFlags)
	if err != nil {
		return err
	}
	err = a.lead(cmd.Context(), f, access, head, work, do)
	if server == nil {
		return err
	}
	if err != nil || cmd.Context().Err() != nil { // the same command resumes it
		return errors.Join(err, server.Stop())
	}
	return removeServer(server, f.stateFolder())
}

// runLocally runs the function do with n workers in this process, and with a queue in memory. It needs no NATS and does
// not listen.
func (a *app) runLocally(ctx context.Context, n int, lease time.Duration, work *coordinate.Work,
	do func(context.Context, workqueue.Queue) error) error {
	memory := workqueue.NewMemory(lease)
	return a.withLocalWorkers(ctx, n, false, func(worker string) (workqueue.Queue, func(), error) {
		return memory.As(worker), func() {}, nil
	}, memory.As("coordinator"), work, func(ctx context.Context) error { return do(ctx, memory.As("coordinator")) })
}

// removeServer stops the NATS that this process started, and removes its folder dir. It also removes the folder
// .doublegrant around dir, if nothing else is there.
func removeServer(server *jetstream.Server, dir string) error {
	if err := server.Remove(); err != nil {
		return err
	}
	if above := filepath.Dir(dir); filepath.Base(above) == stateFolders {
		_ = os.Remove(above) // fails if it has other folders
	}
	return nil
}

const stateFolders = ".doublegrant"

func (f *natsFlags) stateFolder() string {
	if f.state != "" {
		return f.state
	}
	return filepath.Join(stateFolders, f.name)
}

// natsFor starts a NATS and prints the command that joins it. If --nats names an external NATS, natsFor returns access
// to the external one, and server is nil.
func (a *app) natsFor(f *natsFlags) (access jetstream.Access, server *jetstream.Server, err error) {
	if f.nats != "" {
		access, err = f.access(f.nats, func(why string) { a.say("%s", why) })
		return access, nil, err
	}
	if _, err = takeToken(); err != nil {
		return access, nil, err
	}
	if server, err = jetstream.Serve(f.stateFolder(), f.listen); err != nil {
		return access, nil, asFleetUsage(err)
	}
	access = server.Access
	access.Patience = f.patience
	words := []string{"doublegrant", "work", "--join", server.JoinURL(), "--name", f.name, "--token-file",
		filepath.Join(f.stateFolder(), jetstream.TokenFile)}
	a.say("to join: %s", plan.CommandLine(words...))
	return access, server, nil
}

// lead coordinates over a NATS, and removes the coordination from the NATS at the end of the work. If an earlier
// coordinator was killed after it wrote the results, lead only shows these results.
func (a *app) lead(ctx context.Context, f *coordinateFlags, access jetstream.Access, head jetstream.Head,
	work *coordinate.Work, do coordinated) (err error) {
	sizes := jetstream.Sizes{Lease: f.lease, MostStored: int64(f.storeLimit) << 20}
	q, begun, err := jetstream.Lead(ctx, access, f.name, "coordinator on "+workerName(), head, sizes)
	if err != nil {
		return asFleetUsage(err)
	}
	defer func() { q.Close() }()
	if shown, err := a.showKept(ctx, q, do); err != nil || shown {
		return err
	}
	if q.IsOver() { // its results are not in this folder
		q.Close()
		head.StartOver = true
		anew, begunAnew, err := jetstream.Lead(ctx, access, f.name, "coordinator on "+workerName(), head, sizes)
		if err != nil {
			return asFleetUsage(err)
		}
		q, begun = anew, begunAnew
	}
	quiet := access
	quiet.Waiting = nil // the coordinator reports an outage for its workers, too
	err = a.withLocalWorkers(ctx, f.workers, true, func(worker string) (workqueue.Queue, func(), error) {
		queue, _, err := jetstream.Join(ctx, quiet, f.name, worker)
		if err != nil {
			return nil, nil, err
		}
		return queue, queue.Close, nil
	}, q, work, func(ctx context.Context) error {
		return do.do(ctx, q, begun.Seed, func(dir string) error { return q.KeepResults(ctx, dir) })
	})
	switch {
	case errors.Is(err, workqueue.ErrOver):
		return fmt.Errorf("%w: another coordinator has ended %s and has its results", workqueue.ErrOver, f.name)
	case err != nil || ctx.Err() != nil:
		a.say("finished units are kept: run the same command again to continue")
	}
	return err
}

// showKept shows the results of an earlier coordinator that was killed after it wrote them, and ends the coordination.
// It returns false if there are no such results.
func (a *app) showKept(ctx context.Context, q *jetstream.Queue, do coordinated) (bool, error) {
	dir, err := q.Results(ctx)
	if err != nil || dir == "" {
		return false, err
	}
	name := filepath.Base(dir) // the folder must be one of our results, whatever was stored
	if !filepath.IsLocal(name) || name == results.Latest {
		return false, nil
	}
	dir = filepath.Join(a.place.results, name)
	shown, err := do.show(dir)
	switch {
	case err != nil:
		return false, err
	case !shown:
		_ = os.Remove(dir) // it is empty or missing
		return false, nil
	}
	return true, q.End(ctx)
}

// asWorker connects to a queue as the worker with the given name. The function leave disconnects the worker.
type asWorker func(name string) (q workqueue.Queue, leave func(), err error)

// withLocalWorkers starts n workers of this process, which take units, and calls the function do. If that function
// succeeds, withLocalWorkers ends the coordination. The parameter others says whether workers of other processes can
// join. If a worker fails, the function's context is canceled. A worker that failed where other workers did not is only
// withdrawn, unless it was the last worker and no others can join.
func (a *app) withLocalWorkers(
	ctx context.Context, n int, others bool, as asWorker, q workqueue.Queue, work *coordinate.Work,
	do func(context.Context) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var working sync.WaitGroup
	var remaining atomic.Int64 // running workers of this process
	remaining.Store(int64(n))
	for i := range n {
		name := fmt.Sprintf("%s-%d", workerName(), i+1)
		working.Go(func() {
			queue, leave, err := as(name)
			if err == nil {
				err = workOn(ctx, queue, name, a.doer(true), nil) // the user's own code, on the user's own machine
				leave()
			}
			last := remaining.Add(-1) == 0 && !others
			if err != nil && ctx.Err() == nil && (last || !errors.Is(err, workqueue.ErrBarred)) {
				cancel(err)
			}
		})
	}
	unwatch := a.watchWork(q, work)
	err := do(ctx)
	unwatch()
	if err == nil && ctx.Err() == nil {
		err = q.End(ctx)
	}
	cancel(nil)
	working.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}
