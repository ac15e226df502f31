package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// A folder's watchdog is a shell that removes the folder. A second process of our own binary would have to call
// Watchdog first thing in main. A user's test binary does not, and would run the tests again. So a second process is
// used only where there is no shell and the program calls Watchdog.

// shell is what runs watchdogScript.
var shell = "/bin/sh"

// watchdogEnv is the environment variable with the id of the process that a watchdog watches.
const watchdogEnv = "DOUBLEGRANT_WATCHDOG_OF"

// watchdogScript removes the folder $1 if it has the mark $2 or is empty: otherwise the folder may be a user's with the
// same name. It retries, since dying nodes may still write to the folder. It removes the mark last (* does not match
// the mark).
const watchdogScript = `
read -r told && exit
[ -e "$1/$2" ] || { rmdir -- "$1"; exit; }
tries=0
while [ -d "$1" ] && [ "$tries" -lt 600 ]; do
	rm -rf -- "$1"/* && rm -rf -- "$1" && exit
	tries=$((tries + 1))
	sleep 0.1 || sleep 1
done`

// RunningWatchdog is a process that cleans up once this process has ended for any reason. The zero value is none.
type RunningWatchdog struct{ pipe io.WriteCloser }

// StartWatchdog starts cmd as a watchdog. The watchdog's standard input ends together with this process. Only then does
// the watchdog clean up. The environment variable called env holds the id of this process.
func StartWatchdog(cmd *exec.Cmd, env string) (RunningWatchdog, error) {
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s=%d", env, os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return RunningWatchdog{}, fmt.Errorf("cluster: start the watchdog: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it ends by Dismiss, or after us; cmd keeps the pipe open until then
	return RunningWatchdog{pipe}, nil
}

// Dismiss ends the watchdog without a clean-up.
func (w RunningWatchdog) Dismiss() {
	if w.pipe != nil {
		_, _ = io.WriteString(w.pipe, "gone\n") // fails if the watchdog was killed
		_ = w.pipe.Close()
	}
}

// watchFolder starts a watchdog that removes the folder, which need not exist yet.
func watchFolder(path string) (RunningWatchdog, error) {
	cmd := exec.Command(shell, "-c", watchdogScript, "doublegrant-watchdog", path, markName)
	if _, err := os.Stat(shell); err != nil && ownWatchdogs.Load() {
		cmd = ownWatchdog(path)
	}
	return StartWatchdog(cmd, watchdogEnv)
}
