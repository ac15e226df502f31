package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The watchdog is a second process of our own binary that outlives us by as long as it takes to remove what we could
// not: containers and temporary folders, after a SIGKILL, a panic, an os.Exit or the time limit of a test. It reads from a
// pipe what there is; the pipe ends when we do, whatever ends us.
//
// Nothing else does this everywhere: the kernel ends a process's children with it but no containers, testcontainers'
// reaper needs an image of its own and knows no folders, and a shell cannot talk to Docker.

// watchdogEnv, in the environment, makes any binary that links this package the watchdog.
const watchdogEnv = "DOUBLEGRANT_WATCHDOG_OF"

// This has to come before any main: a test binary that were run again would test again.
func init() {
	if os.Getenv(watchdogEnv) != "" {
		watch(os.Stdin)
		os.Exit(0)
	}
}

const (
	watchProcesses  = "folder"     // watch a folder
	watchContainers = "containers" // watch a folder and the containers that carry its label
	watchNoMore     = "gone"       // all of it was removed

	cleanWithin = time.Minute
	lateWithin  = 2 * time.Second // how long a container that was being made may take to appear
)

// watch reads what there is until its writer is gone, and then removes it.
func watch(from io.Reader) {
	watched := map[string]string{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		what, path, _ := strings.Cut(lines.Text(), " ")
		if what == watchNoMore {
			delete(watched, path)
		} else {
			watched[path] = what
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanWithin)
	defer cancel()
	var cleaning sync.WaitGroup
	for path, what := range watched {
		cleaning.Go(func() { clean(ctx, path, what == watchContainers) })
	}
	cleaning.Wait()
}

// clean has nobody to tell of errors; what it cannot remove, the next start or doctor --clean removes.
func clean(ctx context.Context, path string, containers bool) {
	if containers {
		_ = await(ctx, time.Second, func() error { // the daemon may have died, too, and be on its way back
			d, err := findDaemon(ctx)
			if err != nil {
				return err
			}
			return d.removeContainers(ctx, path, lateWithin)
		})
	}
	_ = await(ctx, 50*time.Millisecond, func() error { return removeDeadFolder(ctx, path) })
}

// removeDeadFolder removes a folder whose owner is dying: the kernel has not yet given its lock back, perhaps.
func removeDeadFolder(ctx context.Context, path string) error {
	f, err := lockFolder(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.removeOurs(ctx)
	return err
}

// watchdog is our end of the pipe, and what was said.
type watchdog struct {
	mu      sync.Mutex
	pipe    io.WriteCloser // nil until the first cluster starts
	watched map[string]string
}

// theWatchdog is one for the whole process, as is what it waits for.
var theWatchdog = watchdog{watched: map[string]string{}}

// watch tells the watchdog of a folder before it is made. The watchdog is started at need.
func (w *watchdog) watch(folder, what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched[folder] = what
	if w.pipe != nil && w.say(what, folder) == nil {
		return nil
	}
	if err := w.start(); err != nil {
		return fmt.Errorf("cluster: start the watchdog: %w", err)
	}
	for folder, what := range w.watched { // a first one may have been killed
		if err := w.say(what, folder); err != nil {
			return fmt.Errorf("cluster: the watchdog does not live: %w", err)
		}
	}
	return nil
}

// forget tells it that a folder and all that goes with it was removed.
func (w *watchdog) forget(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, folder)
	if w.pipe != nil {
		_ = w.say(watchNoMore, folder) // one that does not live has forgotten
	}
}

func (w *watchdog) say(what, folder string) error {
	_, err := fmt.Fprintf(w.pipe, "%s %s\n", what, folder)
	return err
}

func (w *watchdog) start() error {
	cmd := exec.Command("/proc/self/exe") // our path may be gone: go test and go run remove it
	cmd.Args = []string{"doublegrant-watchdog"}
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", watchdogEnv, os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.pipe = pipe
	return cmd.Process.Release() // it outlives us, so nobody waits for it
}
