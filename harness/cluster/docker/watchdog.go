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

// The watchdog is a second process of our own binary that outlives us by as long as it takes to remove the containers that we
// could not, after a SIGKILL, a panic, an os.Exit or the time limit of a test. It reads from a pipe which clusters have
// some; the pipe ends when we do, whatever ends us. Folders have watchdogs of their own, see harness/cluster.

// watchdogEnv, in the environment, makes a process that calls Watchdog the watchdog of the one that it names.
const watchdogEnv = "DOUBLEGRANT_DOCKER_WATCHDOG_OF"

// watched says that the program has called Watchdog: started once more it would be the watchdog.
var watched atomic.Bool

// Watchdog does the work of the watchdog in a process that was started as one, and then reports true: main has nothing more to
// do. In any other it returns false at once, and [Platform] can be used from then on.
//
//	func TestMain(m *testing.M) {
//		if docker.Watchdog() {
//			return
//		}
//		m.Run()
//	}
func Watchdog() bool {
	if os.Getenv(watchdogEnv) == "" {
		watched.Store(true)
		return false
	}
	watch(os.Stdin)
	return true
}

const (
	watchContainers = "containers" // watch the containers that carry the folder's label
	watchNoMore     = "gone"       // all of them were removed

	cleanWithin = time.Minute
	lateWithin  = 2 * time.Second // how long a container that was being made may take to appear
)

// watch reads what there is until its writer is gone, and then removes it.
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
		cleaning.Go(func() { clean(ctx, folder) })
	}
	cleaning.Wait()
}

// clean has nobody to tell of errors; what it cannot remove, the next start or doctor --clean removes.
func clean(ctx context.Context, folder string) {
	_ = await.Until(ctx, time.Second, func() error { // the daemon may have died, too, and be on its way back
		d, err := findDaemon(ctx, Platform{}.bounds())
		if err != nil {
			return err
		}
		return d.removeContainers(ctx, folder, lateWithin)
	})
}

// watchdog is our end of the pipe, and what was said.
type watchdog struct {
	mu      sync.Mutex
	pipe    io.WriteCloser // nil until the first cluster starts
	folders map[string]bool
}

// theWatchdog is one for the whole process, as is what it waits for.
var theWatchdog = watchdog{folders: map[string]bool{}}

// Watch has the watchdog remove the folder's containers. It is started at need.
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
	for folder := range w.folders { // a first one may have been killed
		if err := w.say(watchContainers, folder); err != nil {
			return fmt.Errorf("cluster: the watchdog does not live: %w", err)
		}
	}
	return nil
}

// forget tells it that the folder's containers were removed.
func (w *watchdog) forget(folder string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.folders, folder)
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
