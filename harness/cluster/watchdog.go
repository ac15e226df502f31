package cluster

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// A folder's watchdog is a shell that waits for the end of a pipe, which is the end of this process, whatever ends it, and then
// removes the folder. It is no second process of our own binary: that would have to be told what it is before main, and a
// user's test binary would test again instead.

// watchdogEnv, in a watchdog's environment, is the process that it watches.
const watchdogEnv = "DOUBLEGRANT_WATCHDOG_OF"

// watchdogScript removes the folder $1 if it carries the mark $2 or is empty: else it is somebody's own, of the same name. Nodes that
// are dying may still write to it. The mark goes last (* leaves it out).
const watchdogScript = `
read -r told && exit
[ -e "$1/$2" ] || { rmdir -- "$1"; exit; }
tries=0
while [ -d "$1" ] && [ "$tries" -lt 600 ]; do
	rm -rf -- "$1"/* && rm -rf -- "$1" && exit
	tries=$((tries + 1))
	sleep 0.1 || sleep 1
done`

// watchdogs are the pipes of the watchdogs by folder. They must stay open for as long as this process lives.
var watchdogs = struct {
	sync.Mutex
	of map[string]io.WriteCloser
}{of: map[string]io.WriteCloser{}}

// watchFolder has the folder removed when this process ends, unless forgetFolder comes first. The folder need not exist yet.
func watchFolder(path string) error {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "doublegrant-watchdog", path, markName)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", watchdogEnv, os.Getpid()))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for us
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("cluster: start the watchdog, a shell: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it ends when it is told so, or after us
	watchdogs.Lock()
	defer watchdogs.Unlock()
	watchdogs.of[path] = pipe
	return nil
}

// forgetFolder ends the watchdog of a folder that is gone, or somebody else's.
func forgetFolder(path string) {
	watchdogs.Lock()
	defer watchdogs.Unlock()
	if pipe := watchdogs.of[path]; pipe != nil {
		_, _ = io.WriteString(pipe, "gone\n") // one that was killed has forgotten
		_ = pipe.Close()
		delete(watchdogs.of, path)
	}
}
