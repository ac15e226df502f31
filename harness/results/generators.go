package results

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/generators"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file spreads the clients of a run over generators. It has the run's side and the generator's side.

// loadTask is the task of a generator. It is never stored, since the deployment may include a password.
type loadTask struct {
	Plan       string             `json:"plan"`
	Deployment clients.Deployment `json:"deployment"`
	// source addresses of the client groups, and of the probes of their links; empty: the kernel's choice
	GroupIPs []string `json:"groupIPs"`
	LookIPs  []string `json:"lookIPs"`

	// Key has the value Nonce in every primary. If a generator finds another value, it has reached a different Redis at
	// the same address, as may happen on another machine.
	Key   string `json:"key"`
	Nonce string `json:"nonce"`
}

// deployed is a System that clients of other processes can reach.
type deployed interface {
	harness.System
	Deployment() clients.Deployment
}

// exposed is a System that can make its nodes reachable from other machines.
type exposed interface {
	Expose(host string) (clients.Deployment, error)
}

// addressed is a System whose client groups have their own source addresses.
type addressed interface {
	GroupIP(group int) string // source address of the group's clients
	LookIP(group int) string  // source address of the harness's probes, which meet the same faults as the group
}

// GeneratorOptions connects a run with its generators.
type GeneratorOptions struct {
	Post   generators.Post
	Joined func(name string, number int) // called for each generator that joins; may be nil
	// address of this machine at which generators reach the nodes; empty: the generators are on this machine
	Expose string
	Lost   <-chan generators.EndedError    // see generators.Options; may be nil
	Close  func(ctx context.Context) error // called once the generators know that the run is over
}

// team is a run's generators.
type team struct {
	*generators.Team
	plan   []byte
	prefix string // prefix of keys
	nonce  string
	expose string // see GeneratorOptions.Expose
	system harness.System

	done func(context.Context) error
}

// gatherTeam waits until all generators of the plan have joined.
func gatherTeam(ctx context.Context, r plan.Resolved, o Options) (*team, error) {
	if o.Generators == nil {
		return nil, plan.Usagef("a plan with %d generators can only be run by doublegrant run: use that", r.Generators)
	}
	p := r.ForGenerators()
	text, err := p.Encode()
	if err != nil {
		return nil, err
	}
	way, err := o.Generators(ctx, r.Generators)
	if err != nil {
		return nil, err
	}
	t := &team{plan: text, prefix: p.Prefix, nonce: rand.Text(), expose: way.Expose, done: way.Close}
	if r.On == string(cluster.OnDocker) && t.expose == "" {
		t.expose = "127.0.0.1" // containers have addresses that the source addresses of client groups do not reach
	}
	t.Team, err = generators.Gather(ctx, way.Post, generators.Options{
		Generators: r.Generators, Task: t.task, Joined: way.Joined, Lost: way.Lost,
	})
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted while waiting for generators: %w", err)
		}
		return nil, errors.Join(err, way.Close(ctx))
	}
	return t, nil
}

// setSystem sets the system that the generators put under load. With a nil team it does nothing.
func (t *team) setSystem(s harness.System) {
	if t != nil {
		t.system = s
	}
}

// task returns the task that all generators get. It is called once, when the system runs.
func (t *team) task(ctx context.Context) ([]byte, error) {
	if err := t.markPrimaries(ctx); err != nil {
		return nil, err
	}
	s, ok := t.system.(deployed)
	if !ok {
		return nil, fmt.Errorf("results: generators cannot connect to a %T", t.system)
	}
	task := loadTask{Plan: string(t.plan), Key: t.key(), Nonce: t.nonce}
	if e, ok := t.system.(exposed); ok && t.expose != "" {
		var err error
		if task.Deployment, err = e.Expose(t.expose); err != nil {
			return nil, err
		}
		return json.Marshal(task)
	}
	task.Deployment = s.Deployment()
	if a, ok := t.system.(addressed); ok {
		for g := range s.Groups() {
			task.GroupIPs, task.LookIPs = append(task.GroupIPs, a.GroupIP(g)), append(task.LookIPs, a.LookIP(g))
		}
	}
	return json.Marshal(task)
}

// markLasts is the lifetime of the mark that markPrimaries writes, and therefore the time that generators have to find
// the mark.
const markLasts = 5 * time.Minute

func (t *team) key() string { return t.prefix + "doublegrant:generators" }

// markPrimaries writes the run's nonce as a mark into each primary, so that a generator can tell whether it has reached
// this run's Redis.
func (t *team) markPrimaries(ctx context.Context) error {
	c, ok := t.system.(workloads.QuorumConnector)
	if !ok {
		return fmt.Errorf("results: clients cannot connect to a %T", t.system)
	}
	all, err := c.ConnectAll(0)
	for _, r := range all {
		err = errors.Join(err, r.Set(ctx, t.key(), t.nonce, markLasts).Err())
	}
	return err
}

// findMark looks for the mark of markPrimaries in each primary, through the connections of each client group. It
// returns an error if a primary has no mark or a different one.
func (t loadTask) findMark(ctx context.Context, c *clients.Set) error {
	for g := range c.Groups() {
		all, err := c.ConnectAll(g)
		if err != nil {
			return err
		}
		for _, r := range all {
			switch nonce, err := r.Get(ctx, t.Key).Result(); {
			case err != nil && !errors.Is(err, redis.Nil):
				return fmt.Errorf("this machine cannot reach the run's Redis: %w: %s", err, exposeHint)
			case nonce != t.Nonce:
				return fmt.Errorf("a different Redis answers at the run's address on this machine: %s", exposeHint)
			}
		}
	}
	return nil
}

const exposeHint = "for generators on other machines, give --listen or --expose of run an address that they can reach"

func (t *team) leave(ctx context.Context) error {
	t.Close()
	return t.done(ctx)
}

// BuildShare prepares this process to drive its share of a run's clients. It is meant for the field Build of a
// generators.Generator. A plan may start an adapter, which is a command line from another machine. BuildShare refuses
// such plans unless allowAdapters is set.
func (o Options) BuildShare(ctx context.Context, a generators.Assignment, allowAdapters bool) (s generators.Setup,
	err error) {
	var task loadTask
	d := json.NewDecoder(bytes.NewReader(a.Task))
	d.DisallowUnknownFields()
	if err := d.Decode(&task); err != nil {
		return s, fmt.Errorf("results: the task of a generator: %w", err)
	}
	p, err := plan.Decode([]byte(task.Plan))
	if err != nil {
		return s, err
	}
	if p.Adapter != nil && !allowAdapters {
		return s, fmt.Errorf("the plan starts the adapter %s from another machine: allow that with --allow-adapters "+
			"if you trust the coordinator",
			p.Adapter)
	}
	r, err := p.Resolve()
	if err != nil {
		return s, err
	}
	if err := errors.Join(r.Missing(), cluster.Options{Clients: a.Share.End - a.Share.First}.TooLow()); err != nil {
		return s, err
	}
	opened, err := r.OpenClients(task.Deployment, a.Share.End-a.Share.First, nthOf(task.GroupIPs), nthOf(task.LookIPs),
		func(kind string, group int, node string) {
			a.Events(harness.Event{At: a.Clock.Now(), Node: node, Kind: kind, Detail: cluster.GroupName(group)})
		}, a.Fail)
	if err != nil {
		return s, err
	}
	if err := errors.Join(task.findMark(ctx, opened), reachAll(ctx, opened, task.Deployment)); err != nil {
		return s, errors.Join(err, opened.Close())
	}
	s.Load = r.Share(opened, workloads.Share{Number: a.Number - 1, Of: r.Generators, Ahead: a.Ahead})
	s.Load.Log = o.Log
	s.Links = opened
	s.Close = func() error {
		r.Close()
		return opened.Close()
	}
	return s, nil
}

// reachAll returns an error unless every node of the deployment answers.
func reachAll(ctx context.Context, c *clients.Set, d clients.Deployment) error {
	for _, n := range slices.Concat(d.Nodes, d.Sentinels) {
		if err := c.Probe(ctx, cluster.GroupName(0), n.Name); err != nil {
			return fmt.Errorf("this machine cannot reach %s of the run's Redis: %w", n.Name, err)
		}
	}
	return nil
}

// nthOf returns a function that returns the n-th text of a list; "" if there are too few.
func nthOf(all []string) func(int) string {
	return func(n int) string {
		if n < len(all) {
			return all[n]
		}
		return ""
	}
}
