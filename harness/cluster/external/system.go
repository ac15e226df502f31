package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Options holds the settings of a System.
type Options struct {
	Prefix    string        // prefix of all keys; default NewPrefix()
	Groups    int           // number of client groups; default 5
	Clients   int           // expected number of connections of all groups together; default 100
	OpTimeout time.Duration // read and write timeout of clients; default 500ms
	Retries   int           // how often a command without an answer is sent again; default: not at all

	Note func(string) // called with a line for the user, such as keys that remain; nil: not called
	// OnNotSent is called once, with the error of the first command that was not sent: see ErrNotSent. It must not block.
	// nil: not called.
	OnNotSent func(error)
}

// NewPrefix returns a random prefix, so that no two runs share one: doublegrant:<16 hex digits>:.
func NewPrefix() string {
	return fmt.Sprintf("doublegrant:%016x:", rand.Uint64())
}

// System is an external deployment as the system under test. New makes it. It is started once and stopped once.
type System struct {
	target      Target
	opts        Options
	linkControl // the links of the field clients; set by Start

	mu         sync.Mutex
	deployment clients.Deployment
	clients    *clients.Set // clients of the load; nil unless started
	primary    *clients.Set // the harness's own client, which follows the primary past all links
	nodes      *nodeClients // for the harness's questions to the Redis nodes
	sentinels  *nodeClients // for the harness's questions to the Sentinels; nil if there are none
	stopped    bool
	notSentErr error // first error that wraps ErrNotSent

	watching     sync.WaitGroup
	stopWatching context.CancelFunc
}

var _ harness.System = (*System)(nil)

// New returns the target as a system. It does not dial.
func New(t Target, o Options) *System {
	o.Prefix, o.Groups = cmp.Or(o.Prefix, NewPrefix()), cmp.Or(o.Groups, 5)
	return &System{target: t, opts: o}
}

// Prefix returns the prefix of all keys.
func (s *System) Prefix() string { return s.opts.Prefix }

// Groups returns the number of client groups.
func (s *System) Groups() int { return s.opts.Groups }

// Preflight checks that the deployment can be reached, is Redis 7.0 or newer and accepts writes under the prefix. It
// leaves no keys behind.
func (s *System) Preflight(ctx context.Context) error {
	one := New(s.target, s.opts)
	one.opts.Note, one.opts.OnNotSent = nil, nil
	if err := one.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	one.close()
	return nil
}

// startWithin bounds Start.
const startWithin = 20 * time.Second

// Start discovers the nodes and checks what Preflight checks. It does not start any node. From then on it reports each
// node's role, the node that answers each client group, and the node that acknowledges the group's writes.
func (s *System) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := s.start(ctx, clock, events); err != nil {
		s.close()
		return err
	}
	log.Info("external Redis reached", "is", s.deployment.String(), "prefix", s.opts.Prefix)
	return nil
}

func (s *System) start(ctx context.Context, clock harness.Clock, events func(harness.Event)) error {
	d, err := discover(ctx, s.target.seeds)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.deployment = d
	err = s.open(clock, events)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.takesWrites(ctx); err != nil {
		return fmt.Errorf("external: %w", err)
	}
	watch, stop := context.WithCancel(context.Background())
	s.stopWatching = stop
	for i := range s.nodes.nodes {
		s.watching.Go(func() { s.watchRoles(watch, i, clock, events) })
	}
	return nil
}

// open makes all clients. It does not dial. The caller holds s.mu.
func (s *System) open(clock harness.Clock, events func(harness.Event)) (err error) {
	d, o := s.deployment, s.opts
	o.OnNotSent = s.noteNotSent
	if s.clients, err = OpenClients(d, o, func(kind string, group int, node string) {
		events(harness.Event{At: clock.Now(), Node: node, Kind: kind, Detail: clients.GroupName(group)})
	}); err != nil {
		return err
	}
	s.linkControl = s.clients
	if s.primary, err = clients.Open(d, clients.Options{Groups: 1, Clients: 4, OpTimeout: queryTimeout}); err != nil {
		return err
	}
	if s.nodes, err = newNodeClients(d.Nodes, d, false); err != nil || len(d.Sentinels) == 0 {
		return err
	}
	s.sentinels, err = newNodeClients(d.Sentinels, d, true)
	return err
}

// OpenClients returns clients of a discovered deployment. They send no command with a key outside the prefix.
// Options.OnNotSent gets the error of each command that was not sent. The parameter serves becomes
// clients.Options.OnServes.
func OpenClients(
	d clients.Deployment, o Options, serves func(kind string, group int, node string),
) (*clients.Set, error) {
	notSent := o.OnNotSent
	if notSent == nil {
		notSent = func(error) {}
	}
	return clients.Open(d, clients.Options{
		Groups: o.Groups, Clients: o.Clients, OpTimeout: o.OpTimeout, Retries: o.Retries, Hook: discreet{d.Username},
		OnServes: serves,
		Wrap:     func(_ int, _ string, conn net.Conn) net.Conn { return guard(conn, o.Prefix, notSent) },
	})
}

// Deployment returns the deployment that was discovered at the start, with its passwords and keys.
func (s *System) Deployment() clients.Deployment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deployment
}

// noteNotSent records and reports the first command that was not sent.
func (s *System) noteNotSent(err error) {
	s.mu.Lock()
	first := s.notSentErr == nil
	if first {
		s.notSentErr = err
	}
	s.mu.Unlock()
	if first && s.opts.OnNotSent != nil {
		s.opts.OnNotSent(err)
	}
}

// primaryClient returns the harness's own client of the primary.
func (s *System) primaryClient() (*redis.Client, error) {
	s.mu.Lock()
	primary := s.primary
	s.mu.Unlock()
	if primary == nil {
		return nil, errors.New("external: not started")
	}
	r, err := primary.Connect(0)
	if err != nil {
		return nil, err
	}
	return r.(*redis.Client), nil
}

// takesWrites returns nil if the primary accepts a write under the prefix. It removes what it writes.
func (s *System) takesWrites(ctx context.Context) error {
	r, err := s.primaryClient()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	key := s.opts.Prefix + "probe"
	if err := r.Set(ctx, key, "", 10*time.Second).Err(); err != nil {
		return fmt.Errorf("the primary %w", plainError(err))
	}
	if err := r.Del(ctx, key).Err(); err != nil {
		return fmt.Errorf("the primary %w", plainError(err))
	}
	return nil
}

// AwaitWhole waits until the primary accepts a write under the prefix. If ctx ends first, the error says what was
// missing.
func (s *System) AwaitWhole(ctx context.Context) error {
	return await.Until(ctx, 100*time.Millisecond, func() error { return s.takesWrites(ctx) })
}

// Connect returns the client of a group, as [clients.Set.Connect] does. The client sends no command with a key outside
// the prefix.
func (s *System) Connect(group int) (redis.UniversalClient, error) {
	c, err := s.loadClients()
	if err != nil {
		return nil, err
	}
	return c.Connect(group)
}

// ConnectAll returns the one client of Connect.
func (s *System) ConnectAll(group int) ([]redis.UniversalClient, error) {
	c, err := s.loadClients()
	if err != nil {
		return nil, err
	}
	return c.ConnectAll(group)
}

func (s *System) loadClients() (*clients.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil || s.stopped {
		return nil, errors.New("external: not started, or stopped")
	}
	return s.clients, nil
}

// Stop removes the run's keys and closes all clients. If keys may remain, it calls Options.Note. If a command was not
// sent, it returns that command's error, which wraps ErrNotSent. It is safe to call twice, and after a failed Start.
func (s *System) Stop() error {
	s.mu.Lock()
	stopped, started, strayed := s.stopped, s.stopWatching != nil, s.notSentErr
	s.mu.Unlock()
	if stopped {
		return nil
	}
	if started {
		s.removeKeys()
	}
	s.close()
	return strayed
}

// close closes all clients and stops the watch of roles. It is safe to call twice.
func (s *System) close() {
	s.mu.Lock()
	already := s.stopped
	s.stopped = true
	s.mu.Unlock()
	if already {
		return
	}
	if s.stopWatching != nil {
		s.stopWatching()
	}
	s.watching.Wait()
	for _, c := range []*clients.Set{s.clients, s.primary} {
		if c != nil {
			_ = c.Close() // faults may have broken these connections: nothing is lost with them
		}
	}
	s.nodes.close()
	s.sentinels.close()
}
