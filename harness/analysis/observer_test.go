//go:build !race

package analysis_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
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

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// truth holds what an independent observer saw of a cluster, by means that neither the harness's record nor this
// package uses. Every 10 ms it writes a key to each node over the node's Unix socket and asks for its role. It reads
// with MONITOR what each node executed, and it reads the Sentinels' log files. Times are of the wall clock.
type truth struct {
	stop     context.CancelFunc
	watching sync.WaitGroup

	mu       sync.Mutex
	accepted map[string][]time.Time       // answers to writes, by node
	roles    map[string][]role            // changes of role, by node
	executed map[string][]command         // clients' commands, by node
	reached  map[string][]sentinelCommand // Sentinels' commands, by node
	log      []logLine                    // lines of Sentinels' logs
	began    []injectedFault              // faults, as they began
	ticks    map[string][]tick            // delays by the machine's load, of the "observer" and of each Sentinel
}

// role is a role that a node reported.
type role struct {
	at time.Time
	is string // "master" or "slave"
}

// command is a command that a node executed for a client.
type command struct {
	at    time.Time
	group int
}

// sentinelCommand is a command of a Sentinel that a node executed.
type sentinelCommand struct {
	at       time.Time
	sentinel string
}

// injectedFault is the time in which a fault was injected.
type injectedFault struct {
	name     string
	from, to time.Time
}

// observedFault is a fault that reports its injection to the observer.
type observedFault struct {
	harness.Nemesis
	o *truth
}

func (n observedFault) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	b := injectedFault{name: n.Name(), from: time.Now()}
	inj, err := n.Nemesis.Inject(ctx, rng)
	b.to = time.Now()
	n.o.mu.Lock()
	defer n.o.mu.Unlock()
	n.o.began = append(n.o.began, b)
	return inj, err
}

func (n observedFault) Effects() harness.Effects {
	if e, ok := n.Nemesis.(harness.Effective); ok {
		return e.Effects()
	}
	return 0
}

// tick records by how much the machine's load delayed the observer or a Sentinel.
type tick struct {
	at   time.Time
	late time.Duration
}

const truthEvery = 10 * time.Millisecond

func newTruth() *truth {
	return &truth{
		accepted: map[string][]time.Time{}, roles: map[string][]role{}, executed: map[string][]command{},
		reached: map[string][]sentinelCommand{},
		ticks:   map[string][]tick{},
	}
}

// observe starts to observe a running cluster, whose logs are in dir. If cut is true, it truncates each log after
// reading it.
func (o *truth) observe(t *testing.T, c *cluster.Cluster, dir string, cut bool) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	for _, n := range c.RedisNodes() {
		path, err := c.Socket(n)
		require.NoError(t, err)
		o.watching.Go(func() { o.write(ctx, n, path) })
		o.watching.Go(func() { o.monitor(ctx, n, path) })
	}
	for _, n := range c.Sentinels() {
		o.watching.Go(func() { o.ask(ctx, c, n) })
		o.watching.Go(func() { o.read(ctx, n, filepath.Join(dir, n+".log"), cut) })
	}
	o.watching.Go(func() { o.beat(ctx) })
}

// end stops the observer. Only then may its results be read.
func (o *truth) end() {
	o.stop()
	o.watching.Wait()
}

// beat measures how long the machine delays the observer.
func (o *truth) beat(ctx context.Context) {
	for due := time.Now().Add(truthEvery); ctx.Err() == nil; due = due.Add(truthEvery) {
		time.Sleep(time.Until(due)) // the length of this sleep is measured
		now := time.Now()
		o.late(observer, now, now.Sub(due))
		if now.After(due.Add(truthEvery)) {
			due = now
		}
	}
}

// ask measures how long the machine delays a Sentinel, which then logs its messages late.
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

// observer names the observer itself in ticks.
const observer = "observer"

// late records a delay. Up to 20 ms are usual.
func (o *truth) late(who string, at time.Time, by time.Duration) {
	if by > 20*time.Millisecond {
		o.mu.Lock()
		o.ticks[who] = append(o.ticks[who], tick{at, by})
		o.mu.Unlock()
	}
}

// stalled returns for how long the machine delayed the observer between about a and b, plus the same for the Sentinel
// that it delayed most.
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

// write sends a node a write and a question for its role every 10 ms.
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

// asked sends one write and one question and records the answers. No answer within 30 ms is an error.
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

// firstOf reads a whole reply and returns its first string.
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

// fromClient matches a line of MONITOR with a write by a client group. Groups dial from 127.X.10.(1 + group).
var fromClient = regexp.MustCompile(`^\+(\d+)\.(\d+) \[0 127\.\d+\.10\.(\d+):\d+\] "(?i:sadd)"`)

// fromAnybody matches a line of MONITOR with any command, and hello one in which a Sentinel publishes its address.
var (
	fromAnybody = regexp.MustCompile(`^\+(\d+)\.(\d+) \[0 (\S+)\] "(\w+)"`)
	hello       = regexp.MustCompile(`"__sentinel__:hello" "127\.\d+\.\d+\.(\d+),`)
)

// monitor records which commands of clients and Sentinels a node executes. A Sentinel's connection is recognized by the
// address that the Sentinel publishes on it.
func (o *truth) monitor(ctx context.Context, node, path string) {
	for ctx.Err() == nil {
		conn, err := net.Dial("unix", path)
		if err != nil {
			time.Sleep(time.Millisecond) // between two attempts: nothing reports that the process is back
			continue
		}
		hangUp := context.AfterFunc(ctx, func() { _ = conn.Close() })
		_, _ = fmt.Fprint(conn, "MONITOR\r\n")
		of := map[string]string{} // Sentinel, by the address of its connection
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			line := lines.Text()
			m := fromAnybody.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if h := hello.FindStringSubmatch(line); h != nil {
				host, _ := strconv.Atoi(h[1])
				of[m[3]] = fmt.Sprintf("s%d", host-10)
			}
			at := timeOf(m[1], m[2])
			o.mu.Lock()
			if sentinel, known := of[m[3]]; known {
				o.reached[node] = append(o.reached[node], sentinelCommand{at, sentinel})
			}
			if m := fromClient.FindStringSubmatch(line); m != nil {
				host, _ := strconv.Atoi(m[3])
				o.executed[node] = append(o.executed[node], command{at, host - 1})
			}
			o.mu.Unlock()
		}
		hangUp()
		_ = conn.Close()
	}
}

// timeOf returns the time that a node reported, or now if its clock is wrong.
func timeOf(seconds, micros string) time.Time {
	s, _ := strconv.ParseInt(seconds, 10, 64)
	us, _ := strconv.ParseInt(micros, 10, 64)
	at, now := time.Unix(s, us*1000), time.Now()
	if now.Sub(at).Abs() > time.Second {
		return now
	}
	return at
}

// logLine is a line of a Sentinel's log.
type logLine struct {
	at           time.Time
	what, detail string
	by           string
}

var logged = regexp.MustCompile(`^\d+:X (\d+ \w+ \d+ [\d:.]+) [*#] ` +
	`(\+\S+|-sdown|Executing user requested FAILOVER) ?(.*)$`)

// read reads a Sentinel's log and records each line with the time at which it was read. The log may be truncated later,
// and the Sentinel's own clock may be wrong.
func (o *truth) read(ctx context.Context, sentinel, path string, cut bool) {
	done := int64(0) // bytes that were read
	for over := false; !over; {
		over = ctx.Err() != nil // one more pass reads the last lines
		b, err := os.ReadFile(path)
		if int64(len(b)) < done {
			done = 0 // the log was cut off
		}
		if end := int64(bytes.LastIndexByte(b, '\n') + 1); err == nil && end > done {
			o.hear(sentinel, string(b[done:end]))
			if done = end; cut {
				_ = os.Truncate(path, 0)
				done = 0
			}
		}
		time.Sleep(time.Millisecond) // between two reads
	}
}

func (o *truth) hear(sentinel, text string) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for line := range strings.Lines(text) {
		m := logged.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		at, err := time.ParseInLocation("2 Jan 2006 15:04:05.000", m[1], time.Local)
		if err != nil || now.Sub(at).Abs() > time.Second {
			at = now // its clock is wrong
		}
		o.log = append(o.log, logLine{at, m[2], m[3], sentinel})
	}
}

// logs returns the log lines of all Sentinels, ordered by time.
func (o *truth) logs() []logLine {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := slices.Clone(o.log)
	slices.SortStableFunc(all, func(a, b logLine) int { return a.at.Compare(b.at) })
	return all
}
