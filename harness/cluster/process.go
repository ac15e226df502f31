package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// process is the Host of a node that runs on this machine. Its child process dies with us.
type process struct {
	HostOptions
	binary string // path of redis-server

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

var _ Host = (*process)(nil)

func (p *process) Start(context.Context) (<-chan struct{}, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(p.binary, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), p.Env...)
	if err := StartProcess(cmd); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // the exit status of a killed process says nothing
	p.mu.Lock()
	p.cmd, p.done = cmd, done
	p.mu.Unlock()
	return done, nil
}

// lastWordsIn returns the last three lines of a log file, on one line.
func lastWordsIn(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(b))
}

// lastLines returns the last three lines of a log, on one line.
func lastLines(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// signal sends sig to the process. It is an error if the process has ended or was never started.
func (p *process) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("cluster: %s was never started", p.Name)
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("cluster: signal %s: %w", p.Name, err)
	}
	return nil
}

func (p *process) Kill() error {
	p.mu.Lock()
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(syscall.SIGCONT) // may fail: SIGKILL ends a stopped process as well
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cluster: kill %s: %w", p.Name, err)
	}
	<-done
	return nil
}

func (p *process) Remove() error { return p.Kill() }

func (p *process) Make(context.Context) error { return nil }

func (p *process) Terminate(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cluster: %s does not end: %w", p.Name, ctx.Err())
	}
}

func (p *process) Pause(ctx context.Context) error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return await.Until(ctx, time.Millisecond, func() error {
		switch s := p.state(); s {
		case 'T':
			return nil
		case 0, 'Z':
			return fmt.Errorf("%w: %s has ended", await.ErrGaveUp, p.Name)
		default:
			return fmt.Errorf("cluster: %s is in state %q, not stopped", p.Name, s)
		}
	})
}

func (p *process) Resume() error {
	if err := p.signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil // a pause ends with its process
}

// state returns the process's state letter in /proc, such as 'T' for stopped. It is 0 if the process is gone.
func (p *process) state() byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold spaces; the state follows it.
	_, rest, ok := strings.Cut(string(b), ") ")
	if !ok || rest == "" {
		return 0
	}
	return rest[0]
}

func (p *process) Running() bool {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done == nil {
		return false
	}
	select {
	case <-done:
		return false
	default:
		return true
	}
}
