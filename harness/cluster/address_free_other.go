//go:build !linux

package cluster

import "net"

// addressFree returns nil if addr, an IPv4 address with a port, can be listened on.
func addressFree(addr string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	return ln.Close()
}
