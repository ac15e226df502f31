package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// tokenVariable is the environment variable for the token of a NATS.
const tokenVariable = "DOUBLEGRANT_NATS_TOKEN"

// accessFlags say how coordinators and workers reach a NATS, and how the coordination is called (the field name). The
// field patience says for how long the NATS may be unreachable.
type accessFlags struct {
	tokenFile, credentials, ca, name string
	patience                         time.Duration
}

func (f *accessFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "main", "name of the coordination: letters, digits, - and _")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token of the NATS server (default: "+
		"$"+tokenVariable+")")
	flags.StringVar(&f.credentials, "credentials", "", "file with NATS credentials (.creds)")
	flags.StringVar(&f.ca, "tls-ca", "",
		"file with the CA certificates that a tls:// NATS server is checked against (default: this machine's)")
	flags.DurationVar(&f.patience, "give-up-after", jetstream.DefaultPatience,
		"end with exit code 3 after NATS was unreachable for this time")
}

// takeToken removes the token from the environment and returns it, so that child processes do not inherit it.
func takeToken() (string, error) {
	token := os.Getenv(tokenVariable)
	return token, os.Unsetenv(tokenVariable)
}

// access returns how to reach the NATS at url. The token is the content of --token-file, or else the one in the
// environment.
func (f *accessFlags) access(url string, say func(string)) (jetstream.Access, error) {
	token, err := takeToken()
	a := jetstream.Access{URL: url, Token: token, Credentials: f.credentials, CA: f.ca, Patience: f.patience,
		Waiting: say}
	if err != nil {
		return a, err
	}
	if f.patience <= 0 {
		return a, usage("--give-up-after %v: ask for more than 0", f.patience)
	}
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return a, usage("--token-file: %w", err)
		}
		a.Token = strings.TrimSpace(string(text))
	}
	return a, nil
}

// asFleetUsage turns errors of a coordination into usage errors, if the user can fix them: a bad name, token, folder or
// version.
func asFleetUsage(err error) error {
	for _, is := range []error{jetstream.ErrAccess, jetstream.ErrTaken, jetstream.ErrOther, jetstream.ErrFolder,
		workqueue.ErrRefused} {
		if errors.Is(err, is) {
			return plan.Usagef("%w", err)
		}
	}
	return err
}

// say prints a message on standard error, as a line that begins with the program's name.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "doublegrant: %s\n", fmt.Sprintf(format, args...))
}

// sayPlain prints lines of progress on standard error as they are.
func (a *app) sayPlain(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }

// workerName names this process as a worker of a coordination.
func workerName() string { return workerOf(os.Getpid()) }

// workerOf names a process of this machine as a worker of a coordination.
func workerOf(pid int) string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return fmt.Sprintf("%s-%d", host, pid)
}

// doer returns the executor of units on this machine.
func (a *app) doer(allowAdapters bool) *coordinate.Executor {
	o := a.options()
	o.OnSearch = nil
	return &coordinate.Executor{Options: o, Version: version(), AllowAdapters: allowAdapters}
}

// workOn does units of q until no more are needed. After each unit it calls the function end, unless that is nil.
func workOn(ctx context.Context, q workqueue.Queue, name string, d *coordinate.Executor,
	end func(workqueue.Unit, time.Duration, error)) error {
	return errors.Join(workqueue.Worker{Do: d.Do, End: end}.Work(ctx, q, name), d.Close())
}
