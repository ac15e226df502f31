package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

const (
	pauseSlice   = 100 * time.Millisecond
	longestPause = 5 * time.Minute // bound of a pause whose resume is never called
)

// PauseClients makes the node keep commands waiting (CLIENT PAUSE) until resume is called, but for at most 5 minutes.
// If onlyWrites is true, only commands that may write have to wait. Otherwise all commands wait, except the commands of
// the node's replicas. Commands of the harness wait like those of any client.
func (c *Cluster) PauseClients(
	ctx context.Context, name string, onlyWrites bool,
) (resume func(context.Context) error, err error) {
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	if !onlyWrites {
		return n.pauseAll(ctx)
	}
	unpause := func(ctx context.Context) error { // a Sentinel that demotes the node ends our connection
		return await.Until(ctx, 10*time.Millisecond,
			func() error { return n.unlessGone(n.admin.Do(ctx, "CLIENT", "UNPAUSE").Err()) })
	}
	if err := n.admin.Do(ctx, "CLIENT", "PAUSE", longestPause.Milliseconds(), "WRITE").Err(); err != nil {
		return unpause, fmt.Errorf("cluster: pause writes on %s: %w", name, err)
	}
	return unpause, nil
}

// pauseAll queues many short pauses on one connection. A single long pause could not be ended early, since CLIENT
// UNPAUSE would wait like every other command. When a pause ends, the node first serves the command that has waited
// longest, which is the next pause. resume closes the connection, so that no pause follows the current one.
func (n *node) pauseAll(ctx context.Context) (resume func(context.Context) error, err error) {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", n.real())
	if err != nil {
		return nil, fmt.Errorf("cluster: pause clients of %s: %w", n.name, err)
	}
	resume = func(ctx context.Context) error {
		if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return await.Until(ctx, 10*time.Millisecond, func() error { return n.unlessGone(n.admin.Ping(ctx).Err()) })
	}
	pauses := strings.Repeat(fmt.Sprintf("CLIENT PAUSE %d ALL\r\n", pauseSlice.Milliseconds()),
		int(longestPause/pauseSlice))
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // fails on a closed connection only
	_, err = conn.Write([]byte(pauses))
	if err == nil {
		_, err = conn.Read(make([]byte, 8)) // the first +OK: it is in force
	}
	if err != nil {
		return resume, fmt.Errorf("cluster: pause clients of %s: %w", n.name, err)
	}
	return resume, nil
}

// unlessGone returns err, or nil if the node has ended: the node's pause ends with its process.
func (n *node) unlessGone(err error) error {
	if !n.host.Running() {
		return nil
	}
	return err
}
