package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/generators"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// kindLoad is the kind of a coordination whose workers are generators of one run.
const kindLoad = "load"

// loadFlags say where a run's generators come from. expose is the address at which generators on other machines reach
// the nodes.
type loadFlags struct {
	natsFlags
	expose string
}

// ofLoads is the group of the loadFlags in help texts.
var ofLoads = flagGroup{"Generators", []string{
	"generators", "listen", "nats", "expose", "name", "state", "token-file", "credentials", "tls-ca", "give-up-after",
}}

func (f *loadFlags) add(cmd *cobra.Command, generators *int) {
	f.accessFlags.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(generators, "generators", 0,
		"processes that share the clients, started here unless --listen or --nats is given (default: this process "+
			"runs all clients)")
	flags.StringVar(&f.listen, "listen", "",
		"address, with or without a port, on which a NATS server started here listens for generators (doublegrant "+
			"work)")
	flags.StringVar(&f.nats, "nats", "",
		"URL of a running NATS server with JetStream that generators join; several separated by commas")
	flags.StringVar(&f.expose, "expose", "",
		"address of this machine at which generators on other machines reach the Redis nodes, which have no "+
			"password (default: that of --listen, if it is not loopback)")
	flags.StringVar(&f.state, "state", "",
		"folder in which a NATS server started here keeps its token until the end (default: .doublegrant/NAME)")
}

// check refuses flags that would have no effect.
func (f *loadFlags) check(cmd *cobra.Command, n int) error {
	given := anyChanged(cmd, ofLoads.flags[1:])
	switch {
	case n == 0 && given != "":
		return usage("--%s is for generators: add --generators, or leave --%[1]s out", given)
	case f.nats == "" && f.listen == "" && given != "":
		return usage("--%s is for a NATS server that generators join: add --listen or --nats, or leave --%[1]s "+
			"out", given)
	}
	return f.natsFlags.check(cmd)
}

// generators returns the function that connects a run with its n generators. With --listen or --nats they join over
// that NATS. Otherwise this process starts them.
func (a *app) generators(f *loadFlags) func(context.Context, int) (results.GeneratorOptions, error) {
	if f == nil || f.listen == "" && f.nats == "" {
		return a.localGenerators
	}
	return func(ctx context.Context, n int) (w results.GeneratorOptions, err error) {
		access, server, err := a.natsFor(&f.natsFlags)
		if err != nil {
			return w, err
		}
		if f.nats != "" {
			a.say("to join: doublegrant work --join %s --name %s", access, f.name)
		}
		a.say("waiting for %d generators", n)
		q, end, err := leadLoad(ctx, access, f.name, n)
		if err != nil {
			if server != nil { // keep its folder, which may hold work of another coordination
				err = errors.Join(err, server.Stop())
			}
			return w, err
		}
		w.Post, w.Expose = q.Post(), f.exposed()
		w.Joined = func(name string, number int) { a.sayPlain("generator %d of %d: %s", number, n, name) }
		w.Close = func(ctx context.Context) error {
			if err := end(ctx); err != nil || server == nil {
				return err
			}
			return removeServer(server, f.stateFolder())
		}
		return w, nil
	}
}

// exposed returns the address at which generators on other machines reach nodes of this machine; empty: all generators
// are on this machine.
func (f *loadFlags) exposed() string {
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		host = f.listen
	}
	if ip := net.ParseIP(host); f.expose != "" || host == "" || ip != nil && ip.IsLoopback() {
		return f.expose
	}
	return host
}

// leaseOfShares is how long a generator that has joined may be silent while the run waits for more generators. After
// that time another generator may take its place.
const leaseOfShares = 15 * time.Second

// leadLoad begins a coordination of n generators. The function end removes the coordination and disconnects. If a
// killed coordinator left a coordination of the same name, leadLoad replaces it by a new one.
func leadLoad(ctx context.Context, access jetstream.Access, name string, n int) (q *jetstream.Queue,
	end func(context.Context) error, err error) {
	head := jetstream.Head{Kind: kindLoad, Program: version(), StartOver: true}
	q, _, err = jetstream.Lead(ctx, access, name, "coordinator on "+workerName(), head,
		jetstream.Sizes{Lease: leaseOfShares})
	if err != nil {
		return nil, nil, asFleetUsage(err)
	}
	offering, stop := context.WithCancel(ctx)
	if err := coordinate.OfferShares(offering, q, version(), n); err != nil {
		stop()
		q.Close()
		return nil, nil, err
	}
	return q, func(ctx context.Context) error {
		stop()
		defer q.Close()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLoadWithin)
		defer cancel()
		return q.End(ctx)
	}, nil
}

const (
	endLoadWithin    = 20 * time.Second
	localGiveUpAfter = 20 * time.Second // value of --give-up-after for generators that this process starts
	killAfter        = 10 * time.Second // time after the run's end at which generators that still run are killed
	signalAfter      = time.Second      // time after the run's end at which generators that still run are told to end
)

// localGenerators starts generators as child processes, and a NATS on loopback to reach them.
func (a *app) localGenerators(ctx context.Context, n int) (w results.GeneratorOptions, err error) {
	folder, remove, err := cluster.TempFolder()
	if err != nil {
		return w, err
	}
	local := &localGenerators{lost: make(chan generators.EndedError, n)}
	local.closers = append(local.closers, func(context.Context) error { return remove() })
	defer func() {
		if err != nil {
			err = errors.Join(err, local.close(ctx))
		}
	}()
	server, err := jetstream.Serve(filepath.Join(folder, "nats"), "127.0.0.1")
	if err != nil {
		return w, err
	}
	local.closers = append(local.closers, func(context.Context) error { return server.Stop() })
	q, end, err := leadLoad(ctx, server.Access, "load", n)
	if err != nil {
		return w, err
	}
	local.closers = append(local.closers, end)
	self, err := os.Executable()
	if err != nil {
		return w, fmt.Errorf("cannot find this program's file, to start generators: %w", err)
	}
	for range n {
		if err := local.start(self, server.Access); err != nil {
			return w, err
		}
	}
	return results.GeneratorOptions{Post: q.Post(), Lost: local.lost, Close: local.close}, nil
}

// localGenerators are generators that run as child processes of this process.
type localGenerators struct {
	processes []*exec.Cmd
	lost      chan generators.EndedError // receives every generator that fails
	running   sync.WaitGroup
	closers   []func(context.Context) error // called in reverse order; see close
}

// start starts one generator. The generator gets the token in its environment, and removes it from there at once.
func (o *localGenerators) start(self string, access jetstream.Access) error {
	cmd := exec.Command(self, "work", "--join", access.URL, "--name", "load", "--allow-adapters", "--give-up-after",
		localGiveUpAfter.String())
	cmd.Env = append(os.Environ(), tokenVariable+"="+access.Token)
	stderrTail := &cluster.LastWords{}
	cmd.Stderr, cmd.WaitDelay = stderrTail, time.Second
	if err := cluster.StartProcess(cmd); err != nil {
		return fmt.Errorf("cannot start a generator: %w", err)
	}
	o.processes = append(o.processes, cmd)
	o.running.Go(func() {
		if err := cmd.Wait(); err != nil {
			o.lost <- generators.EndedError{Name: workerOf(cmd.Process.Pid),
				Why: fmt.Errorf("generator process %d ended (%w)%s", cmd.Process.Pid, err, stderrTail)}
		}
	})
	return nil
}

// close calls the closers, the last first: it ends the coordination, stops the NATS, and removes the folder. Before it
// stops the NATS, it waits until all processes have ended.
func (o *localGenerators) close(ctx context.Context) error {
	var errs []error
	for i := len(o.closers) - 1; i >= 0; i-- {
		if i == 1 { // the NATS outlives the processes
			o.end()
		}
		errs = append(errs, o.closers[i](ctx))
	}
	return errors.Join(errs...)
}

func (o *localGenerators) end() {
	defer time.AfterFunc(signalAfter, func() { o.signal(syscall.SIGTERM) }).Stop()
	defer time.AfterFunc(killAfter, func() { o.signal(syscall.SIGKILL) }).Stop()
	o.running.Wait()
}

func (o *localGenerators) signal(s syscall.Signal) {
	for _, cmd := range o.processes {
		_ = cmd.Process.Signal(s) // it may have ended
	}
}
