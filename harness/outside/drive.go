package outside

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
)

// driven is a process that drives itself through one schedule.
type driven struct {
	cmd     *exec.Cmd
	said    *cluster.LastWords
	release func()
	ended   chan struct{}      // closed when it was waited for
	killed  chan struct{}      // closed when a crash of its client has killed it
	comes   chan *announcement // from the gate
	first   *announcement      // that came before Next was called; nil: Next has returned it
	open    *announcement      // that the process still waits for; nil: none
	inOp    bool               // it has invoked something, and nothing came of it yet
}

// announcement is a line from the gate, whose process waits until it was heard.
type announcement struct {
	text  string
	heard chan struct{}
}

var _ workloads.Driving = (*driven)(nil)

// Drive starts a process that drives itself, for one schedule, and waits for what it announces first. The end of its standard
// error is in the message if it fails. It panics with an error that wraps interleave.ErrOutside if the process cannot be
// started; what it returns does the same if the process fails.
func (p *Program) Drive(address string, environment ...string) workloads.Driving {
	command, err := p.prepared()
	if err != nil {
		panic(broken(err))
	}
	d := &driven{
		cmd: exec.Command(command[0], command[1:]...), said: &cluster.LastWords{}, ended: make(chan struct{}), killed: make(chan struct{}), comes: make(chan *announcement),
	}
	d.cmd.Env = append(append(os.Environ(), "REDIS_URL="+urlOf(address)), environment...)
	d.cmd.Stderr, d.cmd.WaitDelay = d.said, time.Second
	p.Kill(address) // one of an earlier schedule may be about to end
	if err := p.launch(address, d); err != nil {
		panic(broken(err))
	}
	d.begin()
	return d
}

// launch starts the process, and has what it announces from its start on handed to d.
func (p *Program) launch(address string, d *driven) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	if d.release, err = cluster.StartProcess(d.cmd); err != nil {
		return fmt.Errorf("%q cannot be started: %w", d.cmd.Args[0], err)
	}
	go func() {
		defer close(d.ended)
		_ = d.cmd.Wait() // ProcessState tells how it ended
		killGroup(d.cmd) // what it has started
		d.release()
	}()
	p.drives[address] = d
	return nil
}

// begin waits for the first announcement: to start may take longer than a step.
func (d *driven) begin() {
	select {
	case d.first = <-d.comes:
	case <-d.ended: // Next says how
	case <-time.After(startWithin):
		panic(broken(fmt.Errorf("it has announced nothing within %v%s: want ECHO \"dg invoke acquire lock-1\" at REDIS_URL, %s", startWithin, d.said, page)))
	}
}

// Announced hands on what the program behind a gate has announced, and returns when it may go on.
func (p *Program) Announced(address, text string) {
	p.mu.Lock()
	d := p.drives[address]
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

// Next lets the process go on and returns what it announces next.
func (d *driven) Next() (text string, more bool) {
	if d.open != nil {
		close(d.open.heard)
		d.open = nil
	}
	if d.first != nil {
		d.open, d.first = d.first, nil
		d.inOp = true
		return d.open.text, true
	}
	select {
	case d.open = <-d.comes:
		d.inOp = !d.inOp
		return d.open.text, true
	case <-d.ended:
	}
	select {
	case <-d.killed:
	default:
		if !d.inOp && !d.cmd.ProcessState.Success() { // in an operation it may be a lost answer that ended it
			panic(broken(fmt.Errorf("it ended (%v)%s", d.cmd.ProcessState, d.said)))
		}
	}
	return "", false
}

// kill ends the process, if it has not ended.
func (d *driven) kill() {
	select {
	case <-d.ended: // its number may be another's
	default:
		close(d.killed)
		killGroup(d.cmd)
		<-d.ended
	}
}

// errAnnounces is the error of a program that drives itself, where it would have to be told what to do.
var errAnnounces = errors.New("a program that drives itself is explored, and nothing else: it cannot be told what to do")
