package resp

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
)

// replyWithin bounds the wait for a reply of Redis in real time. Redis itself may have to wait for replicas.
const replyWithin = 5 // seconds

// wire is a connection to a Redis node, at its Unix socket. It blocks in system calls and does not use the runtime's poller.
// That halves the time of a round trip, since only one command is under way at a time.
type Conn struct {
	fd  int
	buf []byte // replies to the last request

	rest []byte // what poll has read and not returned: part of a reply
}

func Dial(socket string) (*Conn, error) {
	syscall.ForkLock.RLock() // no child gets it
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("explore: socket: %w", err)
	}
	w := &Conn{fd: fd, buf: make([]byte, 0, 512)}
	timeout := syscall.Timeval{Sec: replyWithin}
	err = errors.Join(
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &timeout),
		syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}),
	)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("explore: connect to %s: %w", socket, err)
	}
	return w, nil
}

func (w *Conn) Close() { _ = syscall.Close(w.fd) }

// post sends request and waits for no reply.
func (w *Conn) Post(request []byte) error {
	for sent := 0; sent < len(request); {
		m, err := syscall.Write(w.fd, request[sent:])
		if err != nil && err != syscall.EINTR {
			return fmt.Errorf("explore: write to Redis: %w", err)
		}
		sent += max(m, 0)
	}
	return nil
}

// poll returns the whole replies that have come since the last call. Part of a reply is kept for the next.
func (w *Conn) Poll() (replies []byte, err error) {
	var b [4096]byte
	for {
		n, _, err := syscall.Recvfrom(w.fd, b[:], syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			whole := 0
			for {
				size, err := ReplySize(w.rest[whole:])
				if err != nil {
					return nil, err
				}
				if size == 0 {
					break
				}
				whole += size
			}
			replies, w.rest = w.rest[:whole:whole], w.rest[whole:]
			return replies, nil
		case err != nil:
			return nil, fmt.Errorf("explore: read from Redis: %w", err)
		case n == 0:
			return nil, errors.New("explore: Redis closed the connection")
		}
		w.rest = append(w.rest, b[:n]...)
	}
}

// ask sends request, which holds n commands, and returns their n replies. They are valid until the next call.
func (w *Conn) Ask(request []byte, n int) ([]byte, error) {
	if err := w.Post(request); err != nil {
		return nil, err
	}
	w.buf = w.buf[:0]
	for whole := 0; n > 0; {
		if err := w.fill(); err != nil {
			return nil, err
		}
		for n > 0 {
			size, err := ReplySize(w.buf[whole:])
			if err != nil {
				return nil, err
			}
			if size == 0 {
				break
			}
			whole += size
			n--
		}
	}
	return w.buf, nil
}

// fill reads the bytes that have come, and waits for some if there are none. It waits for replyWithin at most.
func (w *Conn) fill() error {
	if len(w.buf) == cap(w.buf) {
		w.buf = append(make([]byte, 0, 4*cap(w.buf)), w.buf...)
	}
	for {
		m, err := syscall.Read(w.fd, w.buf[len(w.buf):cap(w.buf)])
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return fmt.Errorf("explore: Redis did not answer within %d s", replyWithin)
		case err != nil:
			return fmt.Errorf("explore: read from Redis: %w", err)
		case m == 0:
			return errors.New("explore: Redis closed the connection")
		}
		w.buf = w.buf[:len(w.buf)+m]
		return nil
	}
}

// id returns the id of the connection, as Redis knows it.
func (w *Conn) ID() (string, error) {
	reply, err := w.Ask(Request("CLIENT", "ID"), 1)
	if err != nil {
		return "", err
	}
	n, err := Integer(reply)
	return strconv.FormatInt(n, 10), err
}
