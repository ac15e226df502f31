package coordinate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/generators"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Executor does units on this machine, one at a time. Its method Do serves as workqueue.Worker.Do.
type Executor struct {
	Options       results.Options // only Redis, Docker, Warn and Log are used
	Version       string          // version of this program
	AllowAdapters bool            // true: a unit's own command line or image is run; false: such units are refused

	// Post carries the messages of shares. If it is nil, shares are refused.
	Post   generators.Post
	Name   string           // name of this worker
	Joined func(number int) // called when a run has taken this worker as a generator; may be nil

	runner *results.PieceRunner // runner of the last search, kept for its next piece; nil: none
	search string               // the last search, as JSON
	server string               // version of this machine's Redis; empty: not known yet
}

// Close stops the Redis that is kept for the next piece of a search.
func (d *Executor) Close() error {
	if d.runner == nil {
		return nil
	}
	defer func() { d.runner = nil }()
	return d.runner.Stop()
}

// Do does a unit. The error wraps workqueue.ErrRefused if this machine or program cannot do the unit, or must not.
func (d *Executor) Do(ctx context.Context, u workqueue.Unit) (workqueue.Result, error) {
	if err := d.Accept(u.Program, u.Server); err != nil {
		return workqueue.Result{}, err
	}
	switch u.Kind {
	case KindPiece:
		return d.piece(ctx, u)
	case KindRun:
		return d.run(ctx, u)
	case KindShare:
		return d.share(ctx, u)
	}
	return workqueue.Result{}, refuse("units of the kind %.40q are unknown here: use the coordinator's version of "+
		"doublegrant", u.Kind)
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", workqueue.ErrRefused, fmt.Errorf(format, args...))
}

// Accept returns an error that wraps workqueue.ErrRefused unless this machine has the versions that a unit needs. The
// argument program is the version of doublegrant, and server the version of Redis; empty: any Redis.
func (d *Executor) Accept(program, server string) error {
	if program != d.Version {
		return refuse("the coordinator is %.100q, and this is %q: use the same version", program, d.Version)
	}
	if server == "" {
		return nil
	}
	if d.server == "" {
		var err error
		if d.server, err = cluster.RedisVersion(d.Options.Redis); err != nil {
			return refuse("%w", err)
		}
	}
	if server != d.server {
		return refuse("the work is for %.60q, and this is %q: choose the same server with "+
			"--redis-server", server, d.server)
	}
	return nil
}

// piece does a piece of a search. It uses the Redis of the last piece again if both belong to the same search.
func (d *Executor) piece(ctx context.Context, u workqueue.Unit) (res workqueue.Result, err error) {
	var p pieceUnit
	if err := decode(u.Body, &p); err != nil {
		return res, err
	}
	if p.Search.Adapter != nil && !d.AllowAdapters {
		return res, refuse("it starts the adapter %s, a command line from another machine: allow that with "+
			"--allow-adapters if you trust the coordinator", p.Search.Adapter)
	}
	text, err := json.Marshal(p.Search)
	if err != nil {
		return res, err
	}
	if d.runner == nil || d.search != string(text) {
		if err := d.Close(); err != nil {
			return res, err
		}
		if d.runner, err = results.StartPieceRunner(context.WithoutCancel(ctx), p.Search, d.Options.Redis); err != nil {
			d.runner = nil
			return res, err
		}
		d.search = string(text)
	}
	done, err := d.runner.Run(ctx, p.Piece)
	if err != nil {
		return res, errors.Join(err, d.Close()) // what it left behind could disturb the next piece
	}
	if res.Claim, err = done.Claim(); err == nil {
		res.Body, err = json.Marshal(done)
	}
	return res, err
}

// run carries out one repetition of a run of a suite. The result has the packed results folder.
func (d *Executor) run(ctx context.Context, u workqueue.Unit) (res workqueue.Result, err error) {
	var r runUnit
	if err := decode(u.Body, &r); err != nil {
		return res, err
	}
	entry, err := suite.DecodeRun([]byte(r.Run))
	if err != nil {
		return res, err
	}
	if entry.RunsCode() && !d.AllowAdapters {
		return res, refuse("the run %.60q starts an adapter or a container from another machine: allow that with "+
			"--allow-adapters if you trust the coordinator", entry.Title)
	}
	if err := d.Close(); err != nil { // nothing else runs beside a load
		return res, err
	}
	folder, remove, err := cluster.TempFolder()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	o := d.Options
	o.Results = filepath.Join(folder, "results")
	made, err := suite.Repetition{Entry: entry, Turn: r.Turn}.Make(ctx, o)
	if ctx.Err() != nil {
		return res, ctx.Err()
	}
	if err != nil { // without the words that mark wrong usage: it is shown on another machine than that of the user
		return res, errors.New(strings.ReplaceAll(err.Error(), plan.ErrUsage.Error()+": ", ""))
	}
	if made.Run.Ending == tally.Failed { // it may succeed on another machine
		return res, errors.New(made.Run.Why)
	}
	text, err := json.Marshal(made)
	if err == nil {
		err = os.WriteFile(filepath.Join(o.Results, outcomeFile), text, 0o644)
	}
	if err == nil {
		res.Claim = made.Claim()
		res.Body, err = pack(o.Results, workqueue.MostBytes)
	}
	return res, err
}

// share drives a share of a run's clients until the run ends.
func (d *Executor) share(ctx context.Context, u workqueue.Unit) (res workqueue.Result, err error) {
	var s shareUnit
	if err := decode(u.Body, &s); err != nil {
		return res, err
	}
	if d.Post == nil {
		return res, refuse("it is a share of a run's clients, which needs a connection to the coordinator: use " +
			"doublegrant work")
	}
	if err := d.Close(); err != nil { // nothing else runs beside a load
		return res, err
	}
	w := generators.Generator{
		Name: d.Name, Joined: d.Joined,
		Build: func(ctx context.Context, a generators.Assignment) (generators.Setup, error) {
			return d.Options.BuildShare(ctx, a, d.AllowAdapters)
		},
	}
	err = w.Serve(ctx, d.Post)
	switch {
	case errors.Is(err, generators.ErrRefused): // the run has all its generators: this share is not needed
		err = nil
	case errors.Is(err, generators.ErrLost):
		err = fmt.Errorf("%w: %w", workqueue.ErrUnreachable, err)
	}
	return workqueue.Result{Claim: KindShare}, err
}
