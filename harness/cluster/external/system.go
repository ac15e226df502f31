package external

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster/attached"
)

// Options holds the settings of a System.
type Options struct {
	Prefix    string        // with which all keys begin; default NewPrefix()
	Groups    int           // client groups; default 5
	Clients   int           // connections to prepare for, of all groups together; default 100
	OpTimeout time.Duration // read and write timeout of clients; default 500ms
	Retries   int           // times that a command that got no answer is sent again; default none

	Note    func(string) // told in one line what the user should know, such as keys that are left; nil: nobody is
	Outside func(error)  // called once, when a command was not sent because of ErrOutside; must not block; nil: nobody is
}

// NewPrefix returns a prefix that no other run has: doublegrant:<16 hex digits>:.
func NewPrefix() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "doublegrant:" + hex.EncodeToString(b[:]) + ":"
}

// System is a deployment of somebody else as the system under test. New makes it; it is started once and stopped once.
type System struct {
	target      Target
	opts        Options
	linkControl // clients, once it is started

	mu         sync.Mutex
	deployment attached.Deployment
	clients    *attached.Clients // of the load; nil unless started
	primary    *attached.Clients // our own, which follows the primary past all links
	nodes      *looker           // at Redis nodes
	sentinels  *looker           // nil without Sentinels
	stopped    bool
	strayed    error // ErrOutside

	watching sync.WaitGroup
	unwatch  context.CancelFunc
}

var _ harness.System = (*System)(nil)

// New returns the target as a system. It dials nobody.
func New(t Target, o Options) *System {
	if o.Prefix == "" {
		o.Prefix = NewPrefix()
	}
	if o.Groups == 0 {
		o.Groups = 5
	}
	return &System{target: t, opts: o}
}

// Prefix returns the prefix of all keys.
func (s *System) Prefix() string { return s.opts.Prefix }

// Groups returns the number of client groups.
func (s *System) Groups() int { return s.opts.Groups }

// Preflight checks that the deployment can be reached, is Redis 7.0 or newer and takes writes under the prefix. It leaves nothing.
func (s *System) Preflight(ctx context.Context) error {
	one := New(s.target, s.opts)
	one.opts.Note, one.opts.Outside = nil, nil
	if err := one.Start(ctx, harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	return one.close()
}

// startWithin bounds the start.
const startWithin = 20 * time.Second

// Start finds the nodes and checks what Preflight checks. It starts no node. From then on it reports nodes' roles, as they tell them
// themselves, and which node acknowledges the writes of each client group.
func (s *System) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := s.start(ctx, clock, events); err != nil {
		return errors.Join(err, s.close())
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
	s.unwatch = stop
	for i := range s.nodes.nodes {
		s.watching.Go(func() { s.watchRoles(watch, i, clock, events) })
	}
	return nil
}

// open opens all clients. It dials nobody. The caller holds s.mu.
func (s *System) open(clock harness.Clock, events func(harness.Event)) (err error) {
	d, o := s.deployment, s.opts
	o.Outside = s.outside
	if s.clients, err = Attach(d, o, func(kind string, group int, node string) {
		events(harness.Event{At: clock.Now(), Node: node, Kind: kind, Detail: attached.GroupName(group)})
	}); err != nil {
		return err
	}
	s.linkControl = s.clients
	if s.primary, err = attached.Open(d, attached.Options{Groups: 1, Clients: 4, OpTimeout: lookWithin}); err != nil {
		return err
	}
	if s.nodes, err = lookAt(d.Nodes, d, false); err != nil || len(d.Sentinels) == 0 {
		return err
	}
	s.sentinels, err = lookAt(d.Sentinels, d, true)
	return err
}

// Attach opens clients of a deployment that was found. They send no command with a key outside of the prefix: Options.Outside is told of each
// that was not sent. serves is that of attached.Options.
func Attach(d attached.Deployment, o Options, serves func(kind string, group int, node string)) (*attached.Clients, error) {
	outside := o.Outside
	if outside == nil {
		outside = func(error) {}
	}
	return attached.Open(d, attached.Options{
		Groups: o.Groups, Clients: o.Clients, OpTimeout: o.OpTimeout, Retries: o.Retries, Hook: discreet{d.Username}, Serves: serves,
		Wrap: func(_ int, _ string, conn net.Conn) net.Conn { return guard(conn, o.Prefix, outside) },
	})
}

// Deployment returns what was found at the start, with the secrets by which it is reached.
func (s *System) Deployment() attached.Deployment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deployment
}

// outside notes the first command that was not sent.
func (s *System) outside(err error) {
	s.mu.Lock()
	first := s.strayed == nil
	if first {
		s.strayed = err
	}
	s.mu.Unlock()
	if first && s.opts.Outside != nil {
		s.opts.Outside(err)
	}
}

// own returns our own client of the primary.
func (s *System) own() (*redis.Client, error) {
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

// takesWrites returns nil if the primary takes a write under the prefix. What is written is gone afterwards.
func (s *System) takesWrites(ctx context.Context) error {
	r, err := s.own()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	key := s.opts.Prefix + "probe"
	if err := r.Set(ctx, key, "", 10*time.Second).Err(); err != nil {
		return fmt.Errorf("the primary %w", plainly(err))
	}
	if err := r.Del(ctx, key).Err(); err != nil {
		return fmt.Errorf("the primary %w", plainly(err))
	}
	return nil
}

// AwaitWhole returns when the primary answers and takes a write under the prefix. If ctx ends first, the error says what was missing.
func (s *System) AwaitWhole(ctx context.Context) error {
	return await.Until(ctx, 100*time.Millisecond, func() error { return s.takesWrites(ctx) })
}

// Connect returns the client of a group, as [attached.Clients.Connect] does. It sends no command with a key outside of the prefix.
func (s *System) Connect(group int) (redis.UniversalClient, error) {
	c, err := s.load()
	if err != nil {
		return nil, err
	}
	return c.Connect(group)
}

// ConnectAll returns the one client of Connect.
func (s *System) ConnectAll(group int) ([]redis.UniversalClient, error) {
	c, err := s.load()
	if err != nil {
		return nil, err
	}
	return c.ConnectAll(group)
}

func (s *System) load() (*attached.Clients, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil || s.stopped {
		return nil, errors.New("external: not started, or stopped")
	}
	return s.clients, nil
}

// Stop removes the run's keys and closes all clients. Keys that cannot be removed are noted and left. The error wraps ErrOutside if a
// client wanted to send what must not be sent. It is safe to call twice, and after a failed Start.
func (s *System) Stop() error {
	s.mu.Lock()
	stopped, started, strayed := s.stopped, s.unwatch != nil, s.strayed
	s.mu.Unlock()
	if stopped {
		return nil
	}
	if started {
		s.removeKeys()
	}
	return errors.Join(strayed, s.close())
}

// close closes all that is open. It is safe to call twice.
func (s *System) close() error {
	s.mu.Lock()
	already := s.stopped
	s.stopped = true
	s.mu.Unlock()
	if already {
		return nil
	}
	if s.unwatch != nil {
		s.unwatch()
	}
	s.watching.Wait()
	for _, c := range []*attached.Clients{s.clients, s.primary} {
		if c != nil {
			_ = c.Close() // connections that faults broke: nothing is lost with them
		}
	}
	_, _ = s.nodes.close(), s.sentinels.close()
	return nil
}
