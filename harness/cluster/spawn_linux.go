package cluster

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawner starts processes that the kernel kills when we die. The parent-death signal is tied to the thread that
// started the child, so one goroutine keeps one thread for all starts of a cluster.
type spawner struct {
	starts chan start
}

type start struct {
	cmd *exec.Cmd
	err chan error
}

func newSpawner() *spawner {
	s := &spawner{starts: make(chan start)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread() // the thread lives on: children outlive close by a moment
		for st := range s.starts {
			st.err <- st.cmd.Start()
		}
	}()
	return s
}

// start starts cmd in its own process group, so that a Ctrl-C in the terminal reaches only us.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	st := start{cmd: cmd, err: make(chan error, 1)}
	s.starts <- st
	return <-st.err
}

func (s *spawner) close() { close(s.starts) }
