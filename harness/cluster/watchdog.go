package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A folder's watchdog is a shell that waits until this process ends, whatever ends it, and then removes the folder. It
// notices by the end of a pipe. A second process of our own binary would not do: it would have to learn before main
// what it is, and a user's test binary would run the tests again instead. Where there is no shell, a program that calls
// Watchdog does it all the same.

// shell is what runs watchdogScript.
var shell = "/bin/sh"

// watchdogEnv is the environment variable that tells a watchdog the id of the process that it watches.
const watchdogEnv = "DOUBLEGRANT_WATCHDOG_OF"

// watchdogScript removes the folder $1 if it carries the mark $2 or is empty: otherwise it is somebody's own, of the
// same name. It tries again, since nodes that are dying may still write to the folder. It removes the mark last (* does
// not match it).
const watchdogScript = `
read -r told && exit
[ -e "$1/$2" ] || { rmdir -- "$1"; exit; }
tries=0
while [ -d "$1" ] && [ "$tries" -lt 600 ]; do
	rm -rf -- "$1"/* && rm -rf -- "$1" && exit
	tries=$((tries + 1))
	sleep 0.1 || sleep 1
done`

// watchdogs holds the pipes of the watchdogs, by folder. They stay open until the folder is gone or this process ends.
var watchdogs = struct {
	sync.Mutex
	of map[string]io.WriteCloser
}{of: map[string]io.WriteCloser{}}

// watchFolder has the folder removed when this process ends, unless forgetFolder comes first. The folder need not exist
// yet.
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
	go func() { _ = cmd.Wait() }() // it ends when it is told so, or after us
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

// forgetFolder ends the watchdog of a folder that is gone, or that turned out to be somebody else's.
func forgetFolder(path string) {
	watchdogs.Lock()
	defer watchdogs.Unlock()
	if pipe := watchdogs.of[path]; pipe != nil {
		_, _ = io.WriteString(pipe, "gone\n") // one that was killed has forgotten
		_ = pipe.Close()
		delete(watchdogs.of, path)
	}
}
