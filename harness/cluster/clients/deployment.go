package clients

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Deployment describes a Redis deployment and how to log in. Its JSON includes passwords and keys. Its printed form
// shows no secret and no address.
type Deployment struct {
	Nodes      []Node // Redis nodes; with Sentinels there may be more, which get names when they are first dialed
	Sentinels  []Node `json:",omitempty"` // empty: clients connect directly to Nodes
	MasterName string `json:",omitempty"` // name by which Sentinels know the primary
	Masters    int    `json:",omitempty"` // number of independent primaries, which come first in Nodes; 0 or 1: one

	Username         string `json:",omitempty"` // ACL user of the Redis nodes; empty: the default user
	Password         string `json:",omitempty"` // empty: no password
	SentinelUsername string `json:",omitempty"`
	SentinelPassword string `json:",omitempty"`
	Database         int    `json:",omitempty"` // number of the database, for SELECT
	TLS              *TLS   `json:",omitempty"` // encryption of connections to all nodes; nil: none
}

// Node is one Redis node or Sentinel.
type Node struct {
	Name      string // such as "r1" or "s1"
	Announced string // host:port that clients and Sentinels use for the node
	Real      string `json:",omitempty"` // host:port to dial; empty: the one in Announced
}

// TLS describes the encryption of connections. Its texts are PEM, not file names, so that a deployment can be sent to
// other machines.
type TLS struct {
	CA          string `json:",omitempty"` // CA certificates of the servers; empty: those that this machine trusts
	Certificate string `json:",omitempty"` // certificate of the clients, which belongs to Key; empty: none
	Key         string `json:",omitempty"`
	ServerName  string `json:",omitempty"` // name in the servers' certificates; empty: the announced host
}

// String describes the nodes and how they are reached, without addresses, users and passwords.
func (d Deployment) String() string {
	words := []string{counted(len(d.Nodes), "Redis node")}
	if len(d.Sentinels) > 0 {
		words = append(words, counted(len(d.Sentinels), "Sentinel"))
	}
	if d.TLS != nil {
		words = append(words, "TLS")
	}
	if d.Username != "" || d.Password != "" {
		words = append(words, "a password")
	}
	return strings.Join(words, ", ")
}

// GoString returns String, since %#v must not show more than %v.
func (d Deployment) GoString() string { return d.String() }

// String says that there is TLS, without keys.
func (t TLS) String() string { return "TLS" }

// GoString returns String.
func (t TLS) GoString() string { return t.String() }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (d Deployment) validate() error {
	seen := map[string]bool{}
	for _, n := range slices.Concat(d.Nodes, d.Sentinels) {
		if _, _, err := net.SplitHostPort(n.Announced); err != nil || n.Name == "" {
			return fmt.Errorf("clients: node %q needs a name, and the host:port by which it is announced", n.Name)
		}
		if seen[n.Name] || seen[n.Announced] {
			return fmt.Errorf("clients: node %q is there twice, by its name or by its address", n.Name)
		}
		seen[n.Name], seen[n.Announced] = true, true
	}
	switch {
	case len(d.Sentinels) == 0 && len(d.Nodes) == 0:
		return errors.New("clients: a deployment needs a node")
	case len(d.Sentinels) > 0 && d.MasterName == "":
		return errors.New("clients: Sentinels need the MasterName of the primary")
	case len(d.Sentinels) > 0 && d.Masters > 1:
		return errors.New("clients: several Masters go without Sentinels")
	case d.Masters < 0 || d.Masters > 1 && d.Masters > len(d.Nodes):
		return fmt.Errorf("clients: %d Masters of %d nodes", d.Masters, len(d.Nodes))
	}
	return nil
}

// Config returns the configuration for crypto/tls, or nil without TLS. Errors do not show keys.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("clients: no certificate in the CA's PEM text")
		}
	}
	if t.Certificate != "" || t.Key != "" {
		pair, err := tls.X509KeyPair([]byte(t.Certificate), []byte(t.Key))
		if err != nil {
			return nil, errors.New("clients: the client's certificate and key are not a pair of PEM texts")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
