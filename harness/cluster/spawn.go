package cluster

import "os/exec"

// StartProcess starts a process in a process group of its own, which the kernel kills when this process dies. The
// caller calls release when the process has ended.
func StartProcess(cmd *exec.Cmd) (release func(), err error) {
	s := newSpawner()
	if err := s.start(cmd); err != nil {
		s.close()
		return nil, err
	}
	return s.close, nil
}
