package cluster

import (
	"fmt"
	"net/netip"
	"os"
	"syscall"
)

// addressFree returns nil if addr, an IPv4 address with a port, can be listened on.
//
// It binds a socket to the address without listening. The bind fails if a program listens at the address. It does not
// fail for connections that have just ended (TIME_WAIT).
//
// It does not listen itself: even after its Close, a child process that is just being started may hold a copy of the
// listener until its exec, and block the address. A socket that is only bound, with SO_REUSEADDR, blocks no listener of
// Go or Redis, which set that option too.
func addressFree(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return fmt.Errorf("cluster: %q is not an IPv4 address with a port", addr)
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		return fmt.Errorf("bind %s: %w", addr, err)
	}
	return nil
}
