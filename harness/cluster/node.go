package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// node is one Redis or Sentinel process.
type node struct {
	name                string // "r1" ... or "s1" ...
	realIP, announcedIP string
	port                int
	sentinel            bool
	swift               bool   // replicas get in step within milliseconds, at the cost of some load while idle
	dir                 string // working folder, with the configuration that Redis rewrites
	logPath             string

	// Straight to the node, past the fabric: for looking, and for the harness's own commands.
	admin *redis.Client
	guard *redis.SentinelClient // nil unless the node is a Sentinel

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

func (n *node) real() string      { return hostPort(n.realIP, n.port) }
func (n *node) announced() string { return hostPort(n.announcedIP, n.port) }
func (n *node) config() string    { return filepath.Join(n.dir, "redis.conf") }

// maxSocketPath is the length of the longest path that a Unix socket can have on every system.
const maxSocketPath = 103

// socket is where a Redis node listens beside its address, for who is on this machine and in a hurry.
func (n *node) socket() string { return filepath.Join(n.dir, "redis.sock") }

// prepare writes the node's configuration and opens its admin client.
func (n *node) prepare(config string) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	n.admin = redis.NewClient(n.adminOptions())
	if n.sentinel {
		n.guard = redis.NewSentinelClient(n.adminOptions())
	}
	return os.WriteFile(n.config(), []byte(config), 0o644)
}

// adminOptions are fresh each time: go-redis changes what it is given.
func (n *node) adminOptions() *redis.Options {
	return &redis.Options{
		Addr: n.real(), Protocol: 2, DisableIdentity: true, PoolSize: 4,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ContextTimeoutEnabled: true,
	}
}

// closeAdmin closes what prepare opened.
func (n *node) closeAdmin() error {
	var errs []error
	if n.admin != nil {
		errs = append(errs, n.admin.Close())
	}
	if n.guard != nil {
		errs = append(errs, n.guard.Close())
	}
	return errors.Join(errs...)
}

// start starts the process and returns when it answers.
func (n *node) start(ctx context.Context, s *spawner, binary string) error {
	args := []string{n.config()}
	if n.sentinel {
		args = append(args, "--sentinel")
	}
	log, err := os.OpenFile(n.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cluster: start %s: %w", n.name, err)
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := s.start(cmd); err != nil {
		return fmt.Errorf("cluster: start %s: %w", n.name, err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // the exit status of a killed process says nothing
	n.mu.Lock()
	n.cmd, n.done = cmd, done
	n.mu.Unlock()
	return n.awaitAnswer(ctx, done)
}

func (n *node) awaitAnswer(ctx context.Context, done <-chan struct{}) error {
	err := await(ctx, 10*time.Millisecond, func() error {
		select {
		case <-done:
			return fmt.Errorf("%w: its last words: %s", errGaveUp, n.lastWords())
		default:
			return n.admin.Ping(ctx).Err()
		}
	})
	if err != nil {
		return fmt.Errorf("cluster: start %s: %w", n.name, err)
	}
	return nil
}

// lastWords is the end of the node's log.
func (n *node) lastWords() string {
	b, err := os.ReadFile(n.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " | ")
}

// signal sends sig to the process; to one that has ended it is an error.
func (n *node) signal(sig syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return fmt.Errorf("cluster: %s was never started", n.name)
	}
	if err := n.cmd.Process.Signal(sig); err != nil {
		return fmt.Errorf("cluster: signal %s: %w", n.name, err)
	}
	return nil
}

// kill ends the process with SIGKILL and returns when it is gone. Killing what is gone is no error.
func (n *node) kill() error {
	n.mu.Lock()
	cmd, done := n.cmd, n.done
	n.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(syscall.SIGCONT) // a stopped process dies, too, but let no one wonder
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cluster: kill %s: %w", n.name, err)
	}
	<-done
	return nil
}

// state is the process's state letter in /proc, 'T' for stopped; 0 when it is gone.
func (n *node) state() byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
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

// running reports whether the process was started and has not ended.
func (n *node) running() bool {
	n.mu.Lock()
	done := n.done
	n.mu.Unlock()
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
