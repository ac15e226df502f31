package cluster

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartProcess starts a process in its own process group, so that a Ctrl-C in the terminal reaches only us. The kernel
// kills the process when this process dies.
func StartProcess(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	s := start{cmd: cmd, err: make(chan error, 1)}
	starter() <- s
	return <-s.err
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

// starter returns the channel of the goroutine that starts all processes. The kernel kills the processes when the
// thread that started them ends, so this goroutine keeps one thread for good.
var starter = sync.OnceValue(func() chan<- start {
	starts := make(chan start)
	go func() {
		runtime.LockOSThread()
		for s := range starts {
			s.err <- s.cmd.Start()
		}
	}()
	return starts
})
