package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// announcing is an adapter's process that drives itself: it announces its operations instead of being asked for them.
// The process lasts for one schedule.
type announcing struct {
	cmd       *exec.Cmd
	lastWords *cluster.LastWords
	ended     chan struct{}      // closed when the process has ended and was waited for
	killed    chan struct{}      // closed by the method kill, for example because the client has crashed
	clock     *clock             // nil: the process has no preloaded clock
	begun     atomic.Bool        // the process has announced something
	failed    chan error         // gets the reason if the process's clock breaks down; buffers one error
	comes     chan *announcement // announcements that come from the gate
	first     *announcement      // the announcement that StartAnnouncing has waited for; nil once Next has returned it
	// open is the announcement that Next returned last, as long as the process waits for the reply to it; nil: none.
	open *announcement
	inOp bool // the process's last announcement was an invoke, not a return
}

// announcement is a text that an announcing process has sent by ECHO. The process waits for the reply to its ECHO until
// the next call of Next closes heard.
type announcement struct {
	text  string
	heard chan struct{}
}

var (
	_ workloads.AnnouncingProcess = (*announcing)(nil)
	_ timekeeper                  = (*announcing)(nil)
)

// StartAnnouncing starts a process for one schedule, and waits until the process has made its first announcement or has
// ended. The process sends its announcements to the given address. Every error wraps interleave.ErrAdapter, including
// the errors that the process's Next returns.
func (p *Runner) StartAnnouncing(address string, environment ...string) (workloads.AnnouncingProcess, error) {
	command, err := p.prepared()
	if err != nil {
		return nil, broken(err)
	}
	d := &announcing{
		cmd: exec.Command(command[0], command[1:]...), lastWords: &cluster.LastWords{}, ended: make(chan struct{}),
		killed: make(chan struct{}), comes: make(chan *announcement), failed: make(chan error, 1),
	}
	d.cmd.Env = append(append(os.Environ(), "REDIS_URL="+urlOf(address)), environment...)
	d.cmd.Stderr, d.cmd.WaitDelay = d.lastWords, time.Second
	p.Kill(address) // one of an earlier schedule may be about to end
	if err := p.launch(address, d); err != nil {
		return nil, broken(err)
	}
	if err := d.begin(); err != nil {
		return nil, broken(err)
	}
	return d, nil
}

// launch starts the process of d. From then on d gets the announcements that its client sends to that address.
func (p *Runner) launch(address string, d *announcing) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if p.adapter.Clock == workloads.PreloadedClock {
		if d.clock, err = p.clocks.make(d); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				d.clock.close()
			}
		}()
		d.cmd.Env = append(d.cmd.Env, d.clock.environment()...)
	}
	if err = cluster.StartProcess(d.cmd); err != nil {
		return notStarted(d.cmd, err)
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // ProcessState tells how it ended
		killGroup(d.cmd) // what it has started
		if d.clock != nil {
			d.clock.close()
		}
	}()
	p.announcing[address] = d
	return nil
}

// begin waits until the process makes its first announcement or ends. It returns an error if neither happens within
// startWithin, or if the process does not use its preloaded clock.
func (d *announcing) begin() error {
	select {
	case d.first = <-d.comes:
		d.begun.Store(true)
		if d.clock == nil {
			return nil
		}
		if err := d.clock.checkHeeded(d.cmd.Process.Pid); err != nil {
			return fmt.Errorf("its clock cannot be preloaded: %w, %s", err, page)
		}
	case <-d.ended: // Next says how
	case <-time.After(startWithin):
		return fmt.Errorf("it has announced nothing within %v%s: want ECHO \"dg invoke acquire lock-1\" at "+
			"REDIS_URL, %s", startWithin, d.lastWords, page)
	}
	return nil
}

// OnAnnounced takes a text that the client at address has announced. It returns when the process may go on: when Next
// is called again, or when the process has ended.
func (p *Runner) OnAnnounced(address, text string) {
	p.mu.Lock()
	d := p.announcing[address]
	p.mu.Unlock()
	if d == nil {
		return // of an earlier schedule
	}
	a := &announcement{text, make(chan struct{})}
	select {
	case d.comes <- a:
		select {
		case <-a.heard:
		case <-d.ended:
		}
	case <-d.ended:
	}
}

// underWay implements timekeeper. The clock takes all that the process does, from its first announcement until its end,
// for one operation. Before that there is no operation.
func (d *announcing) underWay() <-chan struct{} {
	if !d.begun.Load() {
		return nil
	}
	return d.ended
}

// breakDown implements timekeeper. It makes Next return the given error.
func (d *announcing) breakDown(why error) {
	select {
	case d.failed <- why:
	default: // only the first reason counts
	}
}

// Next lets the process go on and returns its next announcement. The second result is false if the process has ended
// instead. While Next waits, it answers the process's questions about the time with the clock of ctx.
func (d *announcing) Next(ctx context.Context) (text string, more bool, err error) {
	if d.open != nil {
		close(d.open.heard)
		d.open = nil
	}
	if d.first != nil {
		d.open, d.first = d.first, nil
		d.inOp = true
		return d.open.text, true, nil
	}
	if d.open, err = d.await(ctx); err != nil {
		return "", false, broken(err)
	}
	if d.open != nil {
		d.inOp = !d.inOp
		return d.open.text, true, nil
	}
	select {
	case <-d.killed:
	default:
		if !d.inOp && !d.cmd.ProcessState.Success() { // in an operation it may be a lost answer that ended it
			return "", false, broken(fmt.Errorf("it ended (%v)%s", d.cmd.ProcessState, d.lastWords))
		}
	}
	return "", false, nil
}

// await waits for the next announcement. It returns nil when the process has ended.
func (d *announcing) await(ctx context.Context) (*announcement, error) {
	var questions <-chan timeQuestion
	if d.clock != nil {
		questions = d.clock.questions
	}
	for {
		select {
		case a := <-d.comes:
			return a, nil
		case <-d.ended:
			return nil, nil
		case why := <-d.failed:
			return nil, why
		case q := <-questions:
			if q.sleep == askTimer {
				return nil, errTimer
			}
			q.answer(ctx)
		}
	}
}

func (d *announcing) kill() {
	select {
	case <-d.ended: // its number may be another's
	default:
		close(d.killed)
		killGroup(d.cmd)
		<-d.ended
	}
}

// errAnnounces is the error of a load on an adapter that announces its operations: nothing can tell such an adapter
// what to do.
var errAnnounces = errors.New(
	"an adapter that drives itself is explored, and nothing else: it cannot be told what to do")
