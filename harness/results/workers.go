package results

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file shares the pieces of a search out to child processes, the workers. Both sides write lines of JSON. The parent writes what is
// searched, and then one piece after the other. The worker writes that it is ready, then each piece's result, and a sign of life every
// aliveEvery all the while.

const (
	aliveEvery = time.Second
	muteAfter  = 30 * time.Second // a worker that writes no line for so long counts as lost
	endWithin  = 10 * time.Second // how long a worker may take to stop its Redis and end
)

// WorkerCommand is the name of doublegrant's command that runs Work. People do not call it.
const WorkerCommand = "worker"

// assignment is the first line to a worker.
type assignment struct {
	Search plan.Search `json:"search"`
	Redis  string      `json:"redis,omitempty"`
}

// report is a line of a worker.
type report struct {
	Ready  bool                 `json:"ready,omitempty"`
	Alive  bool                 `json:"alive,omitempty"`
	Result *explore.PieceResult `json:"result,omitempty"`
	Failed string               `json:"failed,omitempty"` // the harness or its environment failed
}

// workers is a pool of worker processes for one search.
type workers struct {
	command []string
	assignment
	mute time.Duration // muteAfter; tests shorten it

	mu   sync.Mutex
	idle []*worker
	all  map[*worker]bool // that were started and have not ended
}

// newWorkers returns a pool without workers: they are started as pieces come.
func newWorkers(s plan.Search, o Options) (*workers, error) {
	command := o.Worker
	if command == nil {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("results: find this program, to start workers: %w", err)
		}
		command = []string{self, WorkerCommand}
	}
	return &workers{command: command, assignment: assignment{s, o.Redis}, mute: muteAfter, all: map[*worker]bool{}}, nil
}

// run does a piece in a worker process. It is the Run of explore.Pieces.
func (p *workers) run(ctx context.Context, piece explore.Piece) (explore.PieceResult, error) {
	w, err := p.take(ctx)
	if err != nil {
		return explore.PieceResult{}, err
	}
	res, err := w.do(ctx, piece, p.mute)
	if err != nil {
		p.drop(w)
		return res, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
	return res, nil
}

// take returns an idle worker, or starts one.
func (p *workers) take(ctx context.Context) (*worker, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	p.mu.Unlock()
	w, err := startWorker(p.command)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.all[w] = true
	p.mu.Unlock()
	if err = w.tell(p.assignment); err == nil {
		_, err = w.hear(ctx, p.mute, func(r report) bool { return r.Ready })
	}
	if err != nil {
		p.drop(w)
		return nil, err
	}
	return w, nil
}

// drop kills a worker.
func (p *workers) drop(w *worker) {
	w.kill()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, w)
}

// close ends all workers, in good order if they let it. Nobody calls run any more.
func (p *workers) close() {
	var ending sync.WaitGroup
	for w := range p.all {
		ending.Go(w.end)
	}
	ending.Wait()
	p.all, p.idle = nil, nil
}

// worker is one worker process.
type worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	lines   chan report // closed when the process writes no more
	said    cluster.LastWords
	release func()
	ended   chan struct{}
}

func startWorker(command []string) (*worker, error) {
	w := &worker{cmd: exec.Command(command[0], command[1:]...), lines: make(chan report, 16), ended: make(chan struct{})}
	w.cmd.Stderr, w.cmd.WaitDelay = &w.said, time.Second
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	w.in, w.cmd.Stdout = in, theirs
	if w.release, err = cluster.StartProcess(w.cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("results: start a worker: %w", err), in.Close(), out.Close(), theirs.Close())
	}
	_ = theirs.Close() // the process has its own
	go func() {
		defer close(w.lines)
		defer out.Close()
		for d := json.NewDecoder(bufio.NewReader(out)); ; {
			var r report
			if d.Decode(&r) != nil {
				return
			}
			w.lines <- r
		}
	}()
	go func() {
		defer close(w.ended)
		_ = w.cmd.Wait() // ProcessState tells how it ended
		w.release()
	}()
	return w, nil
}

// tell writes a line to the worker.
func (w *worker) tell(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := w.in.Write(append(b, '\n')); err != nil {
		return w.lost()
	}
	return nil
}

// do lets the worker do a piece.
func (w *worker) do(ctx context.Context, piece explore.Piece, mute time.Duration) (res explore.PieceResult, err error) {
	if err := w.tell(piece); err != nil {
		return res, err
	}
	r, err := w.hear(ctx, mute, func(r report) bool { return r.Result != nil })
	if err != nil {
		return res, err
	}
	return *r.Result, nil
}

// hear waits for a line that is wanted. A worker that says nothing for so long as mute counts as lost.
func (w *worker) hear(ctx context.Context, mute time.Duration, wanted func(report) bool) (report, error) {
	silence := time.NewTimer(mute)
	defer silence.Stop()
	for {
		select {
		case r, ok := <-w.lines:
			switch {
			case !ok:
				return r, w.lost()
			case r.Failed != "":
				return r, errors.New(r.Failed)
			case wanted(r):
				return r, nil
			}
			silence.Reset(mute)
		case <-silence.C:
			return report{}, fmt.Errorf("%w: worker process %d said nothing for %v", explore.ErrWorker, w.cmd.Process.Pid, mute)
		case <-ctx.Done():
			return report{}, ctx.Err()
		}
	}
}

// lost says how the worker came to its end.
func (w *worker) lost() error {
	select {
	case <-w.ended:
		return fmt.Errorf("%w: worker process %d ended (%v)%s", explore.ErrWorker, w.cmd.Process.Pid, w.cmd.ProcessState, &w.said)
	case <-time.After(time.Second):
		return fmt.Errorf("%w: worker process %d writes no more", explore.ErrWorker, w.cmd.Process.Pid)
	}
}

// kill ends the worker at once. Its Redis ends with it.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended
	_ = w.in.Close()
	w.await()
}

// await waits until the worker has ended. It reads what the worker still says, which would wait otherwise.
func (w *worker) await() {
	for range w.lines {
	}
	<-w.ended
}

// end lets the worker stop its Redis and end.
func (w *worker) end() {
	_ = w.in.Close()
	timer := time.AfterFunc(endWithin, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	w.await()
}

// Work does the pieces that in brings, and writes their results to out: it is what a worker process runs. It returns when in ends, ctx
// is canceled, or a piece fails. The error is context.Canceled in the first two cases. It wraps plan.ErrUsage if in brings no search.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	orders := json.NewDecoder(in)
	var a assignment
	if err := orders.Decode(&a); err != nil {
		return plan.Usagef("no search on the standard input: doublegrant starts its workers itself, for explore --workers")
	}
	var mu sync.Mutex
	lines := json.NewEncoder(out)
	say := func(r report) error {
		mu.Lock()
		defer mu.Unlock()
		return lines.Encode(r)
	}
	go sayAlive(ctx, func() error { return say(report{Alive: true}) })
	err := work(ctx, cancel, a, orders, say)
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, say(report{Failed: err.Error()}))
	}
	return cmp.Or(ctx.Err(), err)
}

func sayAlive(ctx context.Context, say func() error) {
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if say() != nil {
				return
			}
		}
	}
}

// work does pieces until there are no more. It calls cancel when the parent is gone, though a piece is under way.
func work(ctx context.Context, cancel func(), a assignment, orders *json.Decoder, say func(report) error) (err error) {
	r, err := StartPieceWorker(ctx, a.Search, a.Redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Stop()) }()
	if err := say(report{Ready: true}); err != nil {
		return err
	}
	pieces := make(chan explore.Piece)
	go func() {
		defer close(pieces)
		defer cancel()
		for {
			var p explore.Piece
			if orders.Decode(&p) != nil {
				return
			}
			pieces <- p
		}
	}()
	for p := range pieces {
		res, err := r.Run(ctx, p)
		if err != nil {
			return err
		}
		if err := say(report{Result: &res}); err != nil {
			return err
		}
	}
	return nil
}

// PieceWorker does pieces of one search, one after the other, in this process.
type PieceWorker struct {
	*explore.PieceRunner
	v workloads.Variant
}

// StartPieceWorker starts a Redis for the pieces of a search. The caller calls Stop. The error wraps plan.ErrUsage if the search cannot
// be made.
func StartPieceWorker(ctx context.Context, s plan.Search, redis string) (*PieceWorker, error) {
	v, spec, err := s.Resolve(redis)
	if err != nil {
		return nil, err
	}
	if err := outside.Missing(v); err != nil {
		v.Close()
		return nil, err
	}
	r, err := explore.StartPieceRunner(ctx, spec)
	if err != nil {
		v.Close()
		return nil, err
	}
	return &PieceWorker{r, v}, nil
}

// Stop stops the Redis, and the program that was searched if it is one outside.
func (w *PieceWorker) Stop() error {
	err := w.PieceRunner.Stop()
	w.v.Close()
	return err
}
