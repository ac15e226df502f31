//go:build !linux

package fabric

import (
	"net"
	"syscall"
)

// peerClosed returns false: this system has no way to tell, and clusters run on Linux only.
func peerClosed(*net.TCPConn) bool { return false }

func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
