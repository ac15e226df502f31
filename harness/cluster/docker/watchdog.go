package docker

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// The watchdog is a second process of our own binary. It outlives us to remove the containers that we could not, after
// a SIGKILL, a panic, an os.Exit or the time limit of a test. It reads from a pipe which clusters have containers. The
// pipe ends when we end, for any reason. Folders have other watchdogs: see harness/cluster.

// watchdogEnv is the environment variable with the id of the process to watch. It turns a process that calls Watchdog
// into a watchdog.
const watchdogEnv = "DOUBLEGRANT_DOCKER_WATCHDOG_OF"

// watchdogCalled is set once the program has called Watchdog. Without that call a second process of it would not act as
// a watchdog.
var watchdogCalled atomic.Bool

// Watchdog acts as the watchdog if this process was started as one, and then returns true: main has nothing more to do.
// In any other process it returns false at once, and [Platform] can be used from then on.
//
//	func TestMain(m *testing.M) {
//		if docker.Watchdog() {
//			return
//		}
//		m.Run()
//	}
func Watchdog() bool {
	if os.Getenv(watchdogEnv) == "" {
		watchdogCalled.Store(true)
		return false
	}
	watch(os.Stdin)
	return true
}

const (
	watchContainers = "containers" // watch the containers that carry the folder's label
	watchNoMore     = "gone"       // all of them were removed: stop watching

	cleanWithin = 3 * time.Minute
	lateWithin  = 2 * time.Second // time that a container that was being made may take to appear
)

// watch reads from the pipe which folders have containers, until the watched process is gone. Then it removes the
// containers of these folders.
func watch(from io.Reader) {
	folders := map[string]bool{}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		what, folder, _ := strings.Cut(lines.Text(), " ")
		if what == watchNoMore {
			delete(folders, folder)
		} else {
			folders[folder] = true
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanWithin)
	defer cancel()
	var cleaning sync.WaitGroup
	for folder := range folders {
		cleaning.Go(func() { removeContainers(ctx, folder) })
	}
	cleaning.Wait()
}

// removeContainers removes the containers of a folder. It drops errors, since nobody could see them: the next start or
// doctor --clean removes the rest.
func removeContainers(ctx context.Context, folder string) {
	_ = await.Until(ctx, time.Second, func() error { // the daemon may have died, too, and be restarting
		d, err := findDaemon(ctx, Platform{}.bounds())
		if err != nil {
			return err
		}
		return d.removeContainers(ctx, folder, lateWithin)
	})
}

// watchdog is what the watched process knows of its watchdog: the pipe to it, and the folders that it watches.
type watchdog struct {
	mu      sync.Mutex
	pipe    io.WriteCloser // nil until the first cluster starts
	folders map[string]bool
}

// theWatchdog is the one watchdog of this process.
var theWatchdog = watchdog{folders: map[string]bool{}}

// Watch makes the watchdog remove the folder's containers if this process dies. It starts the watchdog if there is
// none.
func (d *daemon) Watch(folder string) (forget func(), err error) {
	return func() { theWatchdog.forget(folder) }, theWatchdog.watch(folder)
}

func (w *watchdog) watch(folder string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders[folder] = true
	if w.pipe != nil && w.say(watchContainers, folder) == nil {
		return nil
	}
	if err := w.start(); err != nil {
		return fmt.Errorf("cluster: start the watchdog: %w", err)
	}
	for folder := range w.folders { // an earlier watchdog may have been killed: tell the new one everything
		if err := w.say(watchContainers, folder); err != nil {
			return fmt.Errorf("cluster: the watchdog does not live: %w", err)
		}
	}
	return nil
}

// forget tells the watchdog that the folder's containers were removed.
func (w *watchdog) forget(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.folders, folder)
	if w.pipe != nil {
		_ = w.say(watchNoMore, folder) // if the watchdog is dead there is nothing to forget
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
	return cmd.Process.Release() // the watchdog outlives us, so nobody waits for it
}
