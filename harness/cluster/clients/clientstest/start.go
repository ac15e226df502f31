// Package clientstest starts Redis deployments for tests, as another team would run them: with a password, an ACL
// user, TLS and Sentinels. They end with the test.
package clientstest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
)

// Names and passwords of a deployment's users. Tests search outputs for these words.
const (
	User          = "canary-user"
	Password      = "canary-password"
	AdminPassword = "canary-admin"
	MasterName    = "canary-master"
)

// Options describes a deployment. The zero value is one Redis without a password.
type Options struct {
	Replicas, Sentinels int
	TLS                 bool   // with certificates on both sides
	Rules               string // ACL rules of User; empty: no users and no passwords
}

// Deployment is a running deployment.
type Deployment struct {
	clients.Deployment
	Admin []*redis.Client // clients of the Redis nodes, with all rights

	dir       string
	ca        authority
	o         Options
	processes map[string]*os.Process // processes by name of the node
}

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Fatalf(format string, args ...any)
}

// Start starts a deployment on 127.0.0.1. It returns when all nodes answer and the Sentinels know the replicas.
func Start(t TB, o Options) *Deployment {
	t.Helper()
	d := &Deployment{dir: t.TempDir(), o: o, processes: map[string]*os.Process{}}
	if err := d.start(t); err != nil {
		t.Fatalf("clientstest: %v", err)
	}
	return d
}

func (d *Deployment) start(t TB) (err error) {
	if d.o.TLS {
		if err := d.certify(); err != nil {
			return err
		}
	}
	if d.o.Rules != "" {
		d.Username, d.Password = User, Password
	}
	binary, _, err := cluster.FindRedis("")
	if err != nil {
		return err
	}
	for i := range 1 + d.o.Replicas {
		n := clients.Node{Name: fmt.Sprintf("r%d", i+1), Announced: freeAddress()}
		d.Nodes = append(d.Nodes, n)
		if err := d.run(t, binary, n, d.redisConfig(n)); err != nil {
			return err
		}
		d.Admin = append(d.Admin, d.admin(t, n))
		if err := await.Until(t.Context(), 10*time.Millisecond,
			func() error { return d.Admin[i].Ping(t.Context()).Err() }); err != nil {
			return err
		}
	}
	for i := range d.o.Sentinels {
		n := clients.Node{Name: fmt.Sprintf("s%d", i+1), Announced: freeAddress()}
		d.MasterName, d.Sentinels = MasterName, append(d.Sentinels, n)
		if d.o.Rules != "" {
			d.SentinelPassword = AdminPassword
		}
		if err := d.run(t, binary, n, d.sentinelConfig(n), "--sentinel"); err != nil {
			return err
		}
	}
	return d.awaitSentinels(t)
}

// awaitSentinels waits until the Sentinels know all replicas and each other.
func (d *Deployment) awaitSentinels(t TB) error {
	for _, n := range d.Sentinels {
		s := redis.NewSentinelClient(d.options(n))
		t.Cleanup(func() { _ = s.Close() })
		err := await.Until(t.Context(), 50*time.Millisecond, func() error {
			m, err := s.Master(t.Context(), MasterName).Result()
			if err != nil {
				return err
			}
			if m["num-slaves"] != fmt.Sprint(d.o.Replicas) || m["num-other-sentinels"] != fmt.Sprint(d.o.Sentinels-1) {
				return fmt.Errorf("a Sentinel knows %s replicas and %s Sentinels", m["num-slaves"],
					m["num-other-sentinels"])
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run starts a node. The end of the test, or of the test binary, kills it.
func (d *Deployment) run(t TB, binary string, n clients.Node, config string, more ...string) error {
	file := filepath.Join(d.dir, n.Name+".conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	cmd := exec.Command(binary, append([]string{file}, more...)...)
	if err := cluster.StartProcess(cmd); err != nil {
		return err
	}
	d.processes[n.Name] = cmd.Process
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return nil
}

// freeAddress returns an address on which no process listens.
func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "127.0.0.1:0" // a node that gets this address fails to start
	}
	defer l.Close()
	return l.Addr().String()
}

func (d *Deployment) redisConfig(n clients.Node) string {
	var b strings.Builder
	d.writeCommon(&b, n)
	b.WriteString("save \"\"\nrepl-diskless-sync-delay 0\n")
	if d.o.Rules != "" {
		fmt.Fprintf(&b, "user default on >%s ~* &* +@all\nuser %s on >%s %s\nmasterauth %s\n", AdminPassword, User,
			Password, d.o.Rules, AdminPassword)
	}
	if first := d.Nodes[0]; first != n {
		host, port, _ := net.SplitHostPort(first.Announced)
		fmt.Fprintf(&b, "replicaof %s %s\n", host, port)
	}
	return b.String()
}

func (d *Deployment) sentinelConfig(n clients.Node) string {
	var b strings.Builder
	d.writeCommon(&b, n)
	host, port, _ := net.SplitHostPort(d.Nodes[0].Announced)
	fmt.Fprintf(&b, "sentinel monitor %s %s %s %d\nsentinel down-after-milliseconds %s 1000\nsentinel "+
		"failover-timeout %s 3000\n",
		MasterName, host, port, d.o.Sentinels/2+1, MasterName, MasterName)
	if d.o.Rules != "" {
		fmt.Fprintf(&b, "sentinel auth-pass %s %s\nrequirepass %s\nsentinel sentinel-pass %s\n", MasterName,
			AdminPassword, AdminPassword, AdminPassword)
	}
	return b.String()
}

func (d *Deployment) writeCommon(b *strings.Builder, n clients.Node) {
	_, port, _ := net.SplitHostPort(n.Announced)
	fmt.Fprintf(b, "bind 127.0.0.1\ndir %s\nlogfile %s\n", d.dir, filepath.Join(d.dir, n.Name+".log"))
	if !d.o.TLS {
		fmt.Fprintf(b, "port %s\n", port)
		return
	}
	fmt.Fprintf(b, "port 0\ntls-port %s\ntls-replication yes\ntls-ca-cert-file %s\ntls-cert-file %s\ntls-key-file %s\n",
		port, d.File("ca.pem"), d.File("server.pem"), d.File("server.key"))
}

// certify makes a CA and certificates for both sides, and writes them into the deployment's folder.
func (d *Deployment) certify() (err error) {
	if d.ca, err = newAuthority(); err != nil {
		return err
	}
	server, serverKey, err := d.ca.sign("a server")
	if err != nil {
		return err
	}
	client, clientKey, err := d.ca.sign("a client")
	if err != nil {
		return err
	}
	d.TLS = &clients.TLS{CA: d.ca.pem, Certificate: client, Key: clientKey}
	for name, text := range map[string]string{
		"ca.pem": d.ca.pem, "server.pem": server, "server.key": serverKey, "client.pem": client,
		"client.key": clientKey,
	} {
		if err := os.WriteFile(d.File(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// File returns the path of a file of the deployment: ca.pem, client.pem and client.key with TLS, and each node's log,
// such as r1.log.
func (d *Deployment) File(name string) string { return filepath.Join(d.dir, name) }

// URL returns the deployment's URL, with user and password.
func (d *Deployment) URL() string {
	scheme, at := "redis", d.Nodes
	if d.o.TLS {
		scheme = "rediss"
	}
	who := ""
	if d.o.Rules != "" {
		who = User + ":" + Password + "@"
	}
	path := ""
	if len(d.Sentinels) > 0 {
		scheme, at, path = scheme+"+sentinel", d.Sentinels, "/"+MasterName
		if d.o.Rules != "" {
			path += "?sentinel_password=" + AdminPassword
		}
	} else {
		at = at[:1]
	}
	var hosts []string
	for _, n := range at {
		hosts = append(hosts, n.Announced)
	}
	return scheme + "://" + who + strings.Join(hosts, ",") + path
}

func (d *Deployment) admin(t TB, n clients.Node) *redis.Client {
	r := redis.NewClient(d.options(n))
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// options returns the options of clients with all rights.
func (d *Deployment) options(n clients.Node) *redis.Options {
	o := &redis.Options{Addr: n.Announced, Protocol: 2, DisableIdentity: true, MaxRetries: -1}
	if d.o.Rules != "" {
		o.Password = AdminPassword
	}
	if d.o.TLS {
		o.TLSConfig, _ = d.TLS.Config() // certify made it, so it is right
	}
	return o
}

// Kill kills the node of that name, as a crash would.
func (d *Deployment) Kill(name string) error {
	p := d.processes[name]
	if p == nil {
		return fmt.Errorf("clientstest: no node %q", name)
	}
	return p.Kill()
}
