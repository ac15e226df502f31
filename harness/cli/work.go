package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// workFlags hold the flags that only the command work has.
type workFlags struct {
	accessFlags
	join                string
	stay, allowAdapters bool
}

func (a *app) workCommand() *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{
		Use:   "work --join URL",
		Short: "do units of a suite, a search or a run's load that another doublegrant hands out, until none is left",
		Long: `Joins a coordination, does the units that it hands out, one at a time, and sends back the results. A unit is a
run of a suite, a piece of a search, or a share of a run's clients. Coordinator and worker need the same version of
doublegrant and of Redis. work ends when the coordination is over.

Exit code 0: the work is over; 64: this worker refused the work, or was refused; 3: NATS was unreachable for too long,
the coordinator of a run disappeared, or this worker failed at units that others could do.`,
		Example: "  doublegrant work --join nats://10.0.0.5:4222 --token-file token\n" +
			"  doublegrant work --join tls://nats.example:4222 --credentials team.creds --name nightly --stay",
		Args: exactArgs(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.work(cmd.Context(), &f) },
	}
	f.accessFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.join, "join", "", "URL of the coordinator's NATS server")
	flags.BoolVar(&f.stay, "stay", false, "when the coordination is over, wait for the next one of that name")
	flags.BoolVar(&f.allowAdapters, "allow-adapters", false,
		"also run command lines and container images that come with the work; only for coordinators that you trust")
	a.place.addRedis(cmd)
	return cmd
}

func (a *app) work(ctx context.Context, f *workFlags) error {
	if f.join == "" {
		return usage("no --join: give the URL of NATS; the coordinator prints the whole command")
	}
	access, err := f.access(f.join, func(why string) { a.say("%s", why) })
	if err != nil {
		return err
	}
	for done := 0; ; {
		err := a.workOnce(ctx, f, access, &done)
		if !f.stay || err != nil && !errors.Is(err, jetstream.ErrNoCoordination) {
			if err == nil && done > 0 {
				a.say("the coordination %s is over; units done here: %d", f.name, done)
			} else if err == nil {
				a.say("the coordination %s is over", f.name)
			}
			return asFleetUsage(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second): // until the coordinator has removed the old coordination
		}
	}
}

// workOnce joins one coordination and works until it is over. It adds the number of units that it did to the given
// count.
func (a *app) workOnce(ctx context.Context, f *workFlags, access jetstream.Access, done *int) error {
	name := workerName()
	q, head, err := jetstream.Join(ctx, access, f.name, name)
	if err != nil {
		return err
	}
	defer q.Close()
	d := a.doer(f.allowAdapters)
	d.Name, d.Post = name, q.Post()
	d.Joined = func(number int) { a.say("joined as generator %d", number) }
	if err := d.Accept(head.Program, head.Server); err != nil {
		return err
	}
	a.say("working for %s (%s)", f.name, head.Kind)
	return workOn(ctx, q, name, d, func(u workqueue.Unit, took time.Duration, err error) {
		switch {
		case err == nil:
			*done++
			a.sayPlain("  %s %.8s done in %v", u.Kind, u.ID(), rounded(took))
		case !errors.Is(err, workqueue.ErrOver):
			a.sayPlain("  %s %.8s failed: %s", u.Kind, u.ID(), message(err))
		}
	})
}
