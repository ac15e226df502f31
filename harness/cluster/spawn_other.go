//go:build !linux

package cluster

import (
	"errors"
	"os/exec"
)

// spawner exists on Linux only: nodes need its loopback range and its parent-death signal.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(*exec.Cmd) error {
	return errors.New("local processes need Linux: elsewhere (macOS, BSD) stored histories can be checked")
}

func (*spawner) close() {}
