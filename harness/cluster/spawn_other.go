//go:build !linux

package cluster

import (
	"errors"
	"os/exec"
)

// spawner starts nothing on this system. Nodes need Linux, for its loopback range and its parent-death signal.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(*exec.Cmd) error {
	return errors.New("local processes need Linux: elsewhere (macOS, BSD) stored histories can be checked")
}

func (*spawner) close() {}
