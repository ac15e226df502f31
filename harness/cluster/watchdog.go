package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A folder's watchdog is a shell that waits until this process ends, for any reason, and then removes the folder. A
// pipe from this process tells it: the pipe ends with the process. A second process of our own binary would have to
// call Watchdog first thing in main. A user's test binary does not, and would run the tests again. So it is used only
// where there is no shell and the program calls Watchdog.

// shell is what runs watchdogScript.
var shell = "/bin/sh"

// watchdogEnv is the environment variable with the id of the process that a watchdog watches.
const watchdogEnv = "DOUBLEGRANT_WATCHDOG_OF"

// watchdogScript removes the folder $1 if it has the mark $2 or is empty: otherwise it is a user's folder with such a
// name. It retries, since dying nodes may still write to the folder. It removes the mark last (* does not match it).
const watchdogScript = `
read -r told && exit
[ -e "$1/$2" ] || { rmdir -- "$1"; exit; }
tries=0
while [ -d "$1" ] && [ "$tries" -lt 600 ]; do
	rm -rf -- "$1"/* && rm -rf -- "$1" && exit
	tries=$((tries + 1))
	sleep 0.1 || sleep 1
done`

// watchdogs holds the pipes of the watchdogs, by folder. A pipe stays open until the folder is removed or this process
// ends.
var watchdogs = struct {
	sync.Mutex
	of map[string]io.WriteCloser
}{of: map[string]io.WriteCloser{}}

// watchFolder starts a watchdog that removes the folder when this process ends, unless forgetFolder is called first.
// The folder need not exist yet.
func watchFolder(path string) error {
	cmd := watchdogFor(path)
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s=%d", watchdogEnv, os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("cluster: start the watchdog: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it ends by forgetFolder, or after us
	watchdogs.Lock()
	defer watchdogs.Unlock()
	watchdogs.of[path] = pipe
	return nil
}

// watchdogFor returns the command of a watchdog.
func watchdogFor(path string) *exec.Cmd {
	if _, err := os.Stat(shell); err != nil && ownWatchdogs.Load() {
		return ownWatchdog(path)
	}
	return exec.Command(shell, "-c", watchdogScript, "doublegrant-watchdog", path, markName)
}

// forgetFolder ends the watchdog of a folder that is gone, or that turned out to be another process's.
func forgetFolder(path string) {
	watchdogs.Lock()
	defer watchdogs.Unlock()
	if pipe := watchdogs.of[path]; pipe != nil {
		_, _ = io.WriteString(pipe, "gone\n") // fails if the watchdog was killed
		_ = pipe.Close()
		delete(watchdogs.of, path)
	}
}
