package jetstream

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is an embedded NATS.
type Server struct {
	Access Access // access from this machine

	dir  string // state folder
	join string // URL for other machines; empty: they use the URL in Access
	nats *server.Server
	lock *os.File
	log  storeLog
}

// Serve starts an embedded NATS at the address in listen, a host and a port; an empty port or 0 means a free one. Its
// store, address and random token are kept in the folder dir. A later Serve with that folder uses the same store and
// token, and the same address if listen names the same host and no port. The error wraps ErrAccess if listen is not an
// address, ErrTaken if another process serves from dir, and ErrFolder if other files are in it. If Serve fails in a
// folder without earlier state, it leaves nothing behind.
func Serve(dir, listen string) (*Server, error) {
	host, port, err := splitAddress(listen)
	if err != nil {
		return nil, err
	}
	lock, isNew, err := claim(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, lock: lock}
	if err := s.start(dir, host, port); err != nil {
		if isNew { // and nothing needs to be kept in it
			err = errors.Join(err, removeState(dir))
		}
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

func (s *Server) start(dir, host string, port int) (err error) {
	was := readServed(dir)
	if h, p, err := splitAddress(was.Listen); err == nil && h == host && port == 0 {
		port = p
	}
	if was.token == "" {
		was.token = rand.Text()
	}
	s.nats, err = server.NewServer(&server.Options{
		ServerName: "doublegrant", Host: host, Port: cmp.Or(port, server.RANDOM_PORT), Authorization: was.token,
		JetStream: true, StoreDir: filepath.Join(dir, storeDir),
		NoLog: true, NoSigs: true, MaxPayload: 1 << 20, DisableJetStreamBanner: true,
	})
	if err != nil {
		return fmt.Errorf("jetstream: start NATS: %w", err)
	}
	s.nats.SetLogger(&s.log, false, false)
	s.nats.Start()
	if !s.awaitReady() {
		s.nats.Shutdown()
		if why := s.log.fatal.Load(); why != nil && !strings.Contains(*why, "istening") {
			return fmt.Errorf("jetstream: NATS cannot start in %s: %s", dir, *why)
		}
		return fmt.Errorf("jetstream: NATS cannot listen on %s, which is in use or does not belong to this machine: "+
			"give another address with --listen", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	addr, _ := s.nats.Addr().(*net.TCPAddr)
	was.Listen = net.JoinHostPort(host, strconv.Itoa(addr.Port))
	s.Access = Access{URL: "nats://" + was.Listen, Token: was.token, Broken: s.broken}
	if isEvery(host) {
		s.Access.URL = "nats://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
		if name, err := os.Hostname(); err == nil {
			s.join = "nats://" + net.JoinHostPort(name, strconv.Itoa(addr.Port))
		}
	}
	if err := was.write(dir); err != nil {
		s.end()
		return notWritten(dir, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// readyWithin bounds the start of an embedded NATS.
const readyWithin = 10 * time.Second

// awaitReady waits until the NATS listens, and reports whether it does.
func (s *Server) awaitReady() bool {
	for end := time.Now().Add(readyWithin); time.Now().Before(end) && s.log.fatal.Load() == nil; {
		if s.nats.ReadyForConnections(pause) {
			return s.nats.Addr() != nil
		}
	}
	return false
}

// isEvery reports whether a host stands for all addresses of this machine. Other machines cannot use it.
func isEvery(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "" || ip != nil && ip.IsUnspecified()
}

// JoinURL returns the URL for other machines. It has this machine's name if the server listens on all addresses.
func (s *Server) JoinURL() string { return cmp.Or(s.join, s.Access.URL) }

func splitAddress(listen string) (host string, port int, err error) {
	host, text := listen, ""
	if h, p, err := net.SplitHostPort(listen); err == nil {
		host, text = h, p
	}
	if text != "" {
		if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
			return "", 0, fmt.Errorf("%w: %q is not an address to listen on: give one such as 127.0.0.1:4222",
				ErrAccess, listen)
		}
	}
	return host, port, nil
}

// Stop stops the NATS and keeps its folder.
func (s *Server) Stop() error {
	s.end()
	return s.lock.Close()
}

// Remove stops the NATS and removes its state, and the folder if nothing else is in it. Until Remove returns, no other
// process can serve from the folder.
func (s *Server) Remove() error {
	s.end()
	return errors.Join(removeState(s.dir), s.lock.Close())
}

func (s *Server) end() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
