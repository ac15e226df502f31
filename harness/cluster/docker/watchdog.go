package docker

import (
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// The watchdog of a cluster's containers is a second process of our own binary. It outlives us to remove the containers
// that we could not, after a SIGKILL, a panic, an os.Exit or the time limit of a test. The cluster's folder has another
// watchdog: see harness/cluster.

// watchdogEnv is the environment variable with the id of the process to watch. It turns a process that calls Watchdog
// into a watchdog.
const watchdogEnv = "DOUBLEGRANT_DOCKER_WATCHDOG_OF"

// watchdogCalled is set once the program has called Watchdog. Without that call, a second process of the program would
// not act as a watchdog.
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
	if cluster.AwaitAbandoned() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanWithin)
		defer cancel()
		removeContainers(ctx, os.Args[1])
	}
	return true
}

const (
	cleanWithin = 3 * time.Minute
	lateWithin  = 2 * time.Second // time that a container that was being made may take to appear
)

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

// Watch starts a watchdog, which removes the containers of the cluster in the folder if this process dies.
func (d *daemon) Watch(folder string) (forget func(), err error) {
	cmd := exec.Command("/proc/self/exe") // our path may be gone: go test and go run remove it
	cmd.Args = []string{"doublegrant-watchdog", folder}
	w, err := cluster.StartWatchdog(cmd, watchdogEnv)
	return w.Dismiss, err
}
