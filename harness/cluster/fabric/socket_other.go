//go:build !linux

package fabric

import "syscall"

func bindLate(_, _ string, _ syscall.RawConn) error { return nil }
