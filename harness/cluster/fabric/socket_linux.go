package fabric

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// bindLate makes the kernel choose a socket's port only when the socket connects. The port then has to be free for this
// destination alone. A port that is chosen earlier is taken for all destinations, and stays taken for a minute after
// the connection's end.
func bindLate(_, _ string, raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) // fails before Linux 4.2 only
	})
}
