package cluster

import (
	"fmt"
	"path/filepath"
)

// maxSocketPath is the length of the longest path that a Unix socket can have on every system.
const maxSocketPath = 103

// socket returns the path of the Unix socket at which a Redis node listens beside its address. A Unix socket is faster
// than TCP.
func (n *node) socket() string { return filepath.Join(n.dir, "redis.sock") }

// Socket returns the path of the Unix socket on which a Redis node listens. It leads straight to the node, past the
// fabric. The error wraps ErrLimit if the temporary folder's path is too long for a socket.
func (c *Cluster) Socket(name string) (string, error) {
	n, err := c.node(name)
	if err != nil {
		return "", err
	}
	if err := CheckSocket(n.socket()); err != nil {
		return "", err
	}
	return n.socket(), nil
}

// CheckSocket returns an error that wraps ErrLimit if a path is too long for a Unix socket.
func CheckSocket(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("cluster: %w: %s is longer than the %d bytes of a Unix socket: set TMPDIR to a shorter path",
			ErrLimit, path, maxSocketPath)
	}
	return nil
}
