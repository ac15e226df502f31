package plan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// observer looks at a cluster without using the harness. It reads /proc and opens plain connections: to nodes directly,
// or over the fabric, which breaks links, with the address of a host.
type observer struct {
	*testing.T
	dir    string            // of the cluster, each node in a folder of its own
	at     map[string]string // real addresses of nodes, by their names
	masked map[string]string // addresses at which the fabric listens for them, by their names
}

const (
	lookFor   = 300 * time.Millisecond // for an answer; who needs one looks again
	lookLong  = 30 * time.Second       // for an answer that can be asked for once only
	lookEvery = 30 * time.Millisecond
	// bound of each wait: on a busy machine, elections may fail again and again
	patience = 3 * time.Minute
)

// observe learns the nodes' addresses from the titles of their processes.
func observe(t *testing.T, c *cluster.Cluster) *observer {
	t.Helper()
	socket, err := c.Socket(c.RedisNodes()[0])
	require.NoError(t, err)
	o := &observer{T: t, dir: filepath.Dir(filepath.Dir(socket)), at: map[string]string{}, masked: map[string]string{}}
	for _, name := range append(c.RedisNodes(), c.Sentinels()...) {
		pid := o.pid(name)
		require.NotZero(t, pid, name)
		title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		require.NoError(t, err)
		// "redis-server 127.5.1.1:6379 [sentinel]"
		o.at[name] = strings.Fields(strings.TrimRight(string(title), "\x00 "))[1]
		host, port, err := net.SplitHostPort(o.at[name])
		require.NoError(t, err)
		ip := strings.Split(host, ".")
		o.masked[name] = net.JoinHostPort(strings.Join([]string{ip[0], ip[1], "2", ip[3]}, "."), port)
	}
	return o
}

// processes returns the process that works in each node's folder.
func (o *observer) processes() map[string]int {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	at := map[string]int{}
	for _, link := range all {
		if dir, err := os.Readlink(link); err == nil && filepath.Dir(dir) == o.dir {
			at[filepath.Base(dir)], _ = strconv.Atoi(strings.Split(link, "/")[2])
		}
	}
	return at
}

// pid returns the node's process; 0 if there is none.
func (o *observer) pid(node string) int { return o.processes()[node] }

// stopped reports whether the node's process is stopped.
func (o *observer) stopped(node string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.pid(node)))
	_, rest, _ := strings.Cut(string(b), ") ")
	return err == nil && strings.HasPrefix(rest, "T")
}

// source returns an address from which the observer meets the same faults as the host. Its traffic does not count as
// the host's own, so that an idle fault does not look active.
func (o *observer) source(host string) net.IP {
	ip, plane, number := strings.Split(o.at["r1"], "."), "3", ""
	if group, ok := strings.CutPrefix(host, "g"); ok {
		n, _ := strconv.Atoi(group)
		plane, number = "11", strconv.Itoa(1+n)
	} else {
		own, _, _ := net.SplitHostPort(o.at[host])
		number = own[strings.LastIndex(own, ".")+1:]
	}
	return net.ParseIP(strings.Join([]string{ip[0], ip[1], plane, number}, "."))
}

// line is a plain connection to a node.
type line struct {
	net.Conn
	in *bufio.Reader
}

// straight connects to the node directly, not over the fabric.
func (o *observer) straight(node string) (*line, error) {
	return connected(net.DialTimeout("tcp", o.at[node], lookFor))
}

// over connects over the fabric, as the host does.
func (o *observer) over(from, to string) (*line, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: o.source(from)}, Timeout: lookFor}
	return connected(d.Dial("tcp", o.masked[to]))
}

func connected(c net.Conn, err error) (*line, error) {
	if err != nil {
		return nil, err
	}
	return &line{c, bufio.NewReader(c)}, nil
}

// ask sends a command and returns the reply as text. The parts of an array are joined.
func (l *line) ask(within time.Duration, command ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, word := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	_ = l.SetDeadline(time.Now().Add(within)) // fails on a closed connection only
	if _, err := io.WriteString(l, b.String()); err != nil {
		return "", err
	}
	return l.reply()
}

func (l *line) reply() (string, error) {
	head, err := l.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	head = strings.TrimSpace(head)
	n, _ := strconv.Atoi(head[1:])
	switch head[0] {
	case '$':
		if n < 0 {
			return "(nil)", nil
		}
		text := make([]byte, n+2)
		_, err := io.ReadFull(l.in, text)
		return string(text[:n]), err
	case '*':
		var parts []string
		for range n {
			part, err := l.reply()
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, " "), nil
	case '-':
		return "", errors.New(head[1:])
	}
	return head[1:], nil
}

// ask sends a command to the node in a new connection, not over the fabric.
func (o *observer) ask(node string, command ...string) (string, error) {
	l, err := o.straight(node)
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.ask(lookFor, command...)
}

// field returns the value of a line of the node's INFO.
func (o *observer) field(node, section, name string) string {
	info, _ := o.ask(node, "INFO", section) // none: the field is not seen
	for text := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(text, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// crosses asks for a PONG over the fabric.
func (o *observer) crosses(from, to string) error {
	l, err := o.over(from, to)
	if err != nil {
		return err
	}
	defer l.Close()
	_, err = l.ask(lookFor, "PING")
	return err
}

// primaries lists the nodes that say that they are primaries. It asks all at the same time, since some may be silent.
func (o *observer) primaries() (all []string) {
	said := make(chan string, len(o.at))
	for node := range o.at {
		go func() {
			if !strings.HasPrefix(node, "r") || o.field(node, "replication", "role") != "master" {
				node = ""
			}
			said <- node
		}()
	}
	for range o.at {
		if node := <-said; node != "" {
			all = append(all, node)
		}
	}
	return all
}

// named returns the node that the Sentinel takes for the primary.
func (o *observer) named(sentinel string) string {
	at, err := o.ask(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "doublegrant")
	if err != nil {
		return ""
	}
	for node, masked := range o.masked {
		if strings.ReplaceAll(at, " ", ":") == masked {
			return node
		}
	}
	return ""
}

// ahead returns by how much the node's clock is fast.
func (o *observer) ahead(node string) (time.Duration, error) {
	micros, err := strconv.ParseInt(o.field(node, "server", "server_time_usec"), 10, 64)
	return time.Until(time.UnixMicro(micros)), err
}

// eventually calls seen until it returns nil.
func (o *observer) eventually(what string, seen func() error) error {
	var err error
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		if err = seen(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the observer does not see %s: %w", what, err)
}
