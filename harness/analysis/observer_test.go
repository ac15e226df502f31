//go:build !race

package analysis_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// truth holds what an independent observer saw of a cluster, by means that neither the harness's record nor this package uses.
// Every 10 ms it writes a key to each node over the node's Unix socket and asks for its role; it reads with MONITOR what each
// node executed; and it reads the Sentinels' log files. Times are of the wall clock.
type truth struct {
	stop     context.CancelFunc
	watching sync.WaitGroup

	mu       sync.Mutex
	accepted map[string][]time.Time // answers to writes, by node
	roles    map[string][]role      // roles that a node told, by node, where they changed
	executed map[string][]command   // what clients had it execute, by node
	ticks    map[string][]tick      // by who was late: "observer", or a Sentinel
}

// role is a role that a node told.
type role struct {
	at time.Time
	is string // "master" or "slave"
}

// command is a command that a node executed for a client.
type command struct {
	at    time.Time
	group int
}

// tick notes how late the observer or a Sentinel was because of the machine's load.
type tick struct {
	at   time.Time
	late time.Duration
}

const truthEvery = 10 * time.Millisecond

// observed begins to observe a cluster that is up.
func observed(t *testing.T, c *cluster.Cluster) *truth {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o := &truth{stop: stop, accepted: map[string][]time.Time{}, roles: map[string][]role{}, executed: map[string][]command{}, ticks: map[string][]tick{}}
	for _, n := range c.RedisNodes() {
		path, err := c.Socket(n)
		require.NoError(t, err)
		o.watching.Go(func() { o.write(ctx, n, path) })
		o.watching.Go(func() { o.monitor(ctx, n, path) })
	}
	for _, n := range c.Sentinels() {
		o.watching.Go(func() { o.ask(ctx, c, n) })
	}
	o.watching.Go(func() { o.beat(ctx) })
	return o
}

// end ends the observation; after it the truth may be read.
func (o *truth) end() {
	o.stop()
	o.watching.Wait()
}

// beat measures how late the machine lets the observer be.
func (o *truth) beat(ctx context.Context) {
	for due := time.Now().Add(truthEvery); ctx.Err() == nil; due = due.Add(truthEvery) {
		time.Sleep(time.Until(due)) // the length of this sleep is what is measured
		now := time.Now()
		o.late(observer, now, now.Sub(due))
		if now.After(due.Add(truthEvery)) {
			due = now
		}
	}
}

// ask measures how late the machine lets a Sentinel be: what it has written into its log reaches nobody while it stands still.
func (o *truth) ask(ctx context.Context, c *cluster.Cluster, sentinel string) {
	clock := time.NewTicker(truthEvery)
	defer clock.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		if _, err := c.Do(ctx, sentinel, "PING"); err == nil {
			o.late(sentinel, time.Now(), time.Since(began))
		}
		<-clock.C
	}
}

// observer is the name of the observer itself among those that were late.
const observer = "observer"

// late notes that somebody was late. Up to 20 ms are usual.
func (o *truth) late(who string, at time.Time, by time.Duration) {
	if by > 20*time.Millisecond {
		o.mu.Lock()
		o.ticks[who] = append(o.ticks[who], tick{at, by})
		o.mu.Unlock()
	}
}

// stalled is for how long the machine kept the observer, and the Sentinel that it kept longest, from doing anything between two
// times, or just before or after.
func (o *truth) stalled(a, b time.Time) time.Duration {
	if b.Before(a) {
		a, b = b, a
	}
	a, b = a.Add(-100*time.Millisecond), b.Add(100*time.Millisecond)
	most := time.Duration(0)
	sum := func(who string) (all time.Duration) {
		for _, t := range o.ticks[who] {
			if !t.at.Before(a) && !t.at.Add(-t.late).After(b) {
				all += t.late
			}
		}
		return all
	}
	for who := range o.ticks {
		if who != observer {
			most = max(most, sum(who))
		}
	}
	return sum(observer) + most
}

// write asks a node every 10 ms to take a write and to say its role.
func (o *truth) write(ctx context.Context, node, path string) {
	clock := time.NewTicker(truthEvery)
	defer clock.Stop()
	var conn net.Conn
	var replies *bufio.Reader
	for n := 0; ctx.Err() == nil; n++ {
		if conn == nil {
			if c, err := net.Dial("unix", path); err == nil {
				conn, replies = c, bufio.NewReader(c)
			}
		}
		if conn != nil && o.asked(node, n, conn, replies) != nil {
			_ = conn.Close()
			conn = nil
		}
		<-clock.C
	}
	if conn != nil {
		_ = conn.Close()
	}
}

// asked sends one write and one question and notes the answers. No answer within 30 ms is an error.
func (o *truth) asked(node string, n int, conn net.Conn, replies *bufio.Reader) error {
	_ = conn.SetDeadline(time.Now().Add(30 * time.Millisecond))
	if _, err := fmt.Fprintf(conn, "SET truth %d\r\nROLE\r\n", n); err != nil {
		return err
	}
	wrote, err := replies.ReadString('\n')
	if err != nil {
		return err
	}
	at := time.Now()
	told, err := firstOf(replies)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if strings.HasPrefix(wrote, "+OK") {
		o.accepted[node] = append(o.accepted[node], at)
	}
	if all := o.roles[node]; len(all) == 0 || all[len(all)-1].is != told {
		o.roles[node] = append(all, role{at, told})
	}
	return nil
}

// firstOf reads a whole reply and returns the first string of it.
func firstOf(r *bufio.Reader) (first string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '*':
		for i := range n {
			s, err := firstOf(r)
			if err != nil {
				return "", err
			}
			if i == 0 {
				first = s
			}
		}
		return first, nil
	case '$':
		text, err := r.ReadString('\n')
		return strings.TrimSpace(text), err
	}
	return "", nil
}

// fromClient is a line of MONITOR about a write by a client group; groups dial from 127.X.10.(1 + group).
var fromClient = regexp.MustCompile(`^\+(\d+)\.(\d+) \[0 127\.\d+\.10\.(\d+):\d+\] "(?i:sadd)"`)

// monitor notes what clients have a node execute.
func (o *truth) monitor(ctx context.Context, node, path string) {
	for ctx.Err() == nil {
		conn, err := net.Dial("unix", path)
		if err != nil {
			time.Sleep(time.Millisecond) // the pause between two looks: nobody tells that the process is there again
			continue
		}
		hangUp := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = fmt.Fprint(conn, "MONITOR\r\n")
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			m := fromClient.FindStringSubmatch(lines.Text())
			if m == nil {
				continue
			}
			s, _ := strconv.ParseInt(m[1], 10, 64)
			us, _ := strconv.ParseInt(m[2], 10, 64)
			host, _ := strconv.Atoi(m[3])
			o.mu.Lock()
			o.executed[node] = append(o.executed[node], command{time.Unix(s, us*1000), host - 1})
			o.mu.Unlock()
		}
		hangUp()
		_ = conn.Close()
	}
}

// said is a line of a Sentinel's log.
type said struct {
	at           time.Time
	what, detail string
}

var logged = regexp.MustCompile(`^\d+:X (\d+ \w+ \d+ [\d:.]+) # (\+\S+) (.*)$`)

// logs reads what all Sentinels wrote into their log files, in order of time.
func logs(t *testing.T, dir string) (all []said) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "s*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			if m := logged.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				at, err := time.ParseInLocation("2 Jan 2006 15:04:05.000", m[1], time.Local)
				require.NoError(t, err)
				all = append(all, said{at, m[2], m[3]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b said) int { return a.at.Compare(b.at) })
	return all
}
