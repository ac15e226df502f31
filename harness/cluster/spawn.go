package cluster

import "os/exec"

// StartProcess starts a process in its own process group, which the kernel kills when this process dies. The caller
// calls release when the process has ended.
func StartProcess(cmd *exec.Cmd) (release func(), err error) {
	s := newSpawner()
	if err := s.start(cmd); err != nil {
		s.close()
		return nil, err
	}
	return s.close, nil
}
