package external

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ErrNotSent marks a command that was not sent: a key is outside the run's prefix, or the command is not on the list of
// those that may be sent.
var ErrNotSent = errors.New("not sent to the external Redis")

// guardedConn is a connection that checks every command before it sends it, no matter whether a client library or an
// adapter has written the command. A server never gets the whole of a command with a key outside the prefix.
type guardedConn struct {
	net.Conn
	prefix    string
	onNotSent func(error)
	pending   []byte // start of a command whose rest has not been written yet
	refused   error
}

// guardedSocket is a guardedConn with a raw connection, which go-redis inspects.
type guardedSocket struct {
	*guardedConn
	raw syscall.Conn
}

// SyscallConn returns the raw connection.
func (c guardedSocket) SyscallConn() (syscall.RawConn, error) { return c.raw.SyscallConn() }

// guard wraps conn in a guardedConn. The function notSent gets the error of each command that was not sent.
func guard(conn net.Conn, prefix string, notSent func(error)) net.Conn {
	g := &guardedConn{Conn: conn, prefix: prefix, onNotSent: notSent}
	if raw, ok := conn.(syscall.Conn); ok {
		return guardedSocket{g, raw}
	}
	return g
}

// maxCommand bounds the length of a command, in bytes. The harness's commands are shorter.
const maxCommand = 4 << 20

// Write sends b unless it contains a command that must not be sent. In that case it closes the connection.
func (c *guardedConn) Write(b []byte) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	if err := c.checkCommands(b); err != nil {
		c.refused = fmt.Errorf("%w: %w", ErrNotSent, err)
		c.onNotSent(c.refused)
		_ = c.Close()
		return 0, c.refused
	}
	return c.Conn.Write(b)
}

// checkCommands checks each command whose end is in b. It keeps the rest, the start of a further command, in c.pending.
func (c *guardedConn) checkCommands(b []byte) error {
	if len(c.pending) > 0 {
		b = append(c.pending, b...)
	}
	for len(b) > 0 {
		args, rest, err := nextCommand(b)
		if err != nil {
			return err
		}
		if args == nil {
			break
		}
		if err := check(args, c.prefix); err != nil {
			return err
		}
		b = rest
	}
	if len(b) > maxCommand {
		return errors.New("a command is longer than 4 MiB")
	}
	c.pending = append(c.pending[:0:0], b...)
	return nil
}

var errNotRESP = errors.New("the client sent something other than a command of the Redis protocol")

// nextCommand reads the first command of b, an array of strings in the Redis protocol. The first result is nil if b has
// only a part of the command. The second is what follows the command.
func nextCommand(b []byte) (args []string, rest []byte, err error) {
	n, rest, whole, err := readNumber(b, '*')
	if err != nil || !whole {
		return nil, nil, err
	}
	args = make([]string, 0, min(n, 16))
	for range n {
		var size int
		if size, rest, whole, err = readNumber(rest, '$'); err != nil || !whole {
			return nil, nil, err
		}
		if len(rest) < size+2 {
			return nil, nil, nil
		}
		if rest[size] != '\r' || rest[size+1] != '\n' {
			return nil, nil, errNotRESP
		}
		args, rest = append(args, string(rest[:size])), rest[size+2:]
	}
	return args, rest, nil
}

// readNumber reads the number in a line such as "*3" or "$5", whose first byte is the parameter kind. The third result
// is false if the line has not ended yet.
func readNumber(b []byte, kind byte) (n int, rest []byte, whole bool, err error) {
	if len(b) == 0 {
		return 0, nil, false, nil
	}
	line, rest, whole := bytes.Cut(b, []byte("\r\n"))
	if b[0] != kind || len(line) > 20 {
		return 0, nil, false, errNotRESP
	}
	if !whole {
		return 0, nil, false, nil
	}
	n, err = strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 || n > maxCommand {
		return 0, nil, false, errNotRESP
	}
	return n, rest, true, nil
}
