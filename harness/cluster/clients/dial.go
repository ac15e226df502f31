package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// Dialer opens connections for a client library.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// clientDialer returns the dialer of a group's clients.
func (c *Set) clientDialer(group int) Dialer {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		p := c.placeOf(addr)
		conn, err := c.dial(ctx, fabric.Source{Host: GroupName(group), IP: callOrEmpty(c.opts.GroupIP, group)}, addr)
		if err != nil || p == nil {
			return conn, err
		}
		if c.opts.Wrap != nil && !p.sentinel {
			conn = c.opts.Wrap(group, p.name, conn)
		}
		if c.services != nil && !p.sentinel {
			conn = c.services[group].watch(conn, p)
		}
		return conn, nil
	}
}

// probeDialer returns the dialer of the connections that probe a group's links.
func (c *Set) probeDialer(group int) Dialer {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		return c.dial(ctx, fabric.Source{Host: GroupName(group), IP: callOrEmpty(c.opts.LookIP, group),
			Uncounted: true},
			addr)
	}
}

// callOrEmpty calls the given function for the group. It returns "" if the function is nil.
func callOrEmpty(ip func(group int) string, group int) string {
	if ip == nil {
		return ""
	}
	return ip(group)
}

// dial opens a connection over the fabric, with TLS inside if the deployment uses it.
func (c *Set) dial(ctx context.Context, from fabric.Source, addr string) (net.Conn, error) {
	conn, err := c.fabric.DialFrom(ctx, from, addr)
	if err != nil || c.tls == nil {
		return conn, err
	}
	config := c.tls
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		config = config.Clone()
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: refusedTLS(err)}
	}
	return securedConn{secured}, nil
}

// refusedTLS returns a handshake's error without the names and addresses in certificates.
func refusedTLS(err error) error {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return errors.New("TLS: the server's certificate is signed by a CA that is not trusted")
	case errors.As(err, &name):
		return errors.New("TLS: the server's certificate is for another name")
	case errors.As(err, &invalid):
		return errors.New("TLS: the server's certificate is not valid, or not any more")
	case errors.As(err, &record):
		return errors.New("TLS: the server does not speak it")
	case errors.As(err, &alert):
		return fmt.Errorf("TLS: the server refuses: %w", alert)
	}
	return fmt.Errorf("TLS: %w", err)
}

type securedConn struct{ *tls.Conn }

// Close closes the connection and returns no error. TLS's own error would say that the other side was not notified,
// which is normal after a link fault.
func (c securedConn) Close() error {
	_ = c.Conn.Close()
	return nil
}
