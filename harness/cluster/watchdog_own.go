package cluster

import (
	"context"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// Where there is no shell, as in an image that holds this program alone, a second process of our own binary watches the
// folder. This works only in a program that calls Watchdog.

// watchedFolderEnv is the environment variable with the folder that a second process of our own binary watches. It
// turns a process that calls Watchdog into a watchdog.
const watchedFolderEnv = "DOUBLEGRANT_WATCHDOG_FOLDER"

// ownWatchdogs is set once the program has called Watchdog. Only then can the program be started again as a watchdog,
// where there is no shell for one.
var ownWatchdogs atomic.Bool

// Watchdog acts as a folder's watchdog if this process was started as one, and then returns true: main has nothing more
// to do. In any other process it returns false at once. A program calls it first thing in main if it makes clusters on
// machines without /bin/sh. On other machines it changes nothing.
func Watchdog() bool {
	path := os.Getenv(watchedFolderEnv)
	if path == "" {
		ownWatchdogs.Store(true)
		return false
	}
	if AwaitAbandoned() {
		removeAbandoned(path)
	}
	return true
}

// AwaitAbandoned waits, in a watchdog, for the end of the process that has started the watchdog. It returns false if
// that process has dismissed the watchdog.
func AwaitAbandoned() bool {
	n, _ := os.Stdin.Read(make([]byte, 1))
	return n == 0
}

// ownWatchdog returns the command of a watchdog that is a second process of our own binary.
func ownWatchdog(path string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"doublegrant-watchdog", path} // to be found in a list of processes
	cmd.Env = append(os.Environ(), watchedFolderEnv+"="+path)
	return cmd
}

// removeAbandoned does what watchdogScript does once the watched process has ended.
func removeAbandoned(path string) {
	f := folder{path: path}
	if !f.marked() {
		_ = os.Remove(path) // only if it is empty: otherwise it is a user's folder
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = await.Until(ctx, 100*time.Millisecond, f.removeMarkLast) // an error could not be reported
}
