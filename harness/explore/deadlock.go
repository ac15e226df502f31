package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
)

// This file finds schedules that end with a client waiting for ever.

// findDeadlock looks for clients that are not done although no move is left. Such clients wait for ever. findDeadlock
// ends them, and records an anomaly that says what they wait for.
func (ex *execution) findDeadlock() error {
	var stuck []*actor
	for _, a := range ex.actors {
		if !a.done {
			stuck = append(stuck, a)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	ex.deadlock = ex.deadlockOf(stuck)
	for _, a := range stuck {
		if a.done { // ended with another client of its process
			continue
		}
		if err := ex.endClient(a.index); err != nil {
			return err
		}
	}
	return nil
}

func (ex *execution) deadlockOf(stuck []*actor) *harness.Anomaly {
	d := &harness.Anomaly{Class: harness.Deadlock, From: ex.stamp(), To: ex.stamp()}
	var waits []string
	for _, a := range stuck {
		d.From = min(d.From, a.callAt)
		what, key := ex.awaited(a)
		if d.Key == "" {
			d.Key = key
		}
		waits = append(waits, fmt.Sprintf("client %d waits for ever %s", a.index+1, what))
	}
	d.Note = strings.Join(waits, ", ") + ": nobody is left who would wake it"
	return d
}

// awaited describes what an actor waits for. The result key holds the first key of the command in which the actor
// waits, or the channels from which it awaits a message. It is empty for any other wait.
func (ex *execution) awaited(a *actor) (what, key string) {
	switch at := a.parkedAt; {
	case at.Kind == model.InMemory:
		return "in memory, for a lock or a channel of its process", ""
	case at.Kind == model.InJoin:
		return fmt.Sprintf("for its thread %d", at.thread.thread+1), ""
	case at.Kind == model.InRead:
		return "for a message on " + channels(at.conn), channels(at.conn)
	case at.Kind == model.InCommand:
		c := at.conn.Queue[0]
		if keys := slices.Concat(c.Reads, c.Writes); len(keys) > 0 {
			key = keys[0]
		}
		return "in " + c.Text(ex.w.Scripts), key
	case a.wakeAt > ex.now:
		return "and sleeps again and again, " + (a.wakeAt - ex.now).Round(time.Millisecond).String() + " each time", ""
	}
	return "", ""
}

// channels lists the channels to which a connection has subscribed.
func channels(c *conn) string {
	if c.subscription == nil {
		return ""
	}
	var names []string
	for _, key := range c.subscription.access.Writes {
		if name, ok := strings.CutPrefix(key, command.ChannelKey("")); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "patterns"
	}
	return strings.Join(names, ", ")
}
