//go:build !linux

package cluster

import (
	"errors"
	"os/exec"
)

// StartProcess returns an error: nodes need Linux, for its loopback range and its parent-death signal.
func StartProcess(*exec.Cmd) error {
	return errors.New("local processes need Linux: elsewhere (macOS, BSD) stored histories can be checked")
}
