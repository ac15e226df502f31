package cluster

import (
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// watchMessages reports the messages that the Sentinel publishes. When the connection breaks, as in a crash, the last
// messages before the break may be lost. watchMessages reads the lost messages from the Sentinel's log. If the log may
// lack some of them, watchMessages reports that once for each break.
func (n *node) watchMessages(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	sub := n.sentinelClient.PSubscribe(ctx, "*")
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends a Receive that waits
	missed := missedMessages{path: n.logPath, now: clock.Now, wall: time.Now, clockIsRight: func() bool {
		return n.clockIsRight(ctx)
	}}
	report := func(e harness.Event) {
		e.Node = n.name
		events(e)
	}
	subscribed, lost, unreadReported := false, false, false
	lostAt := time.Duration(0)
	for ctx.Err() == nil {
		message, err := sub.Receive(ctx)
		if ctx.Err() != nil {
			return
		}
		if lost {
			inLog, complete := missed.read()
			for _, e := range inLog {
				report(e)
			}
			if !complete && !unreadReported {
				report(harness.Event{At: lostAt, Kind: harness.EventMessagesMissed})
				unreadReported = true
			}
		}
		switch m := message.(type) {
		case *redis.Message:
			if e, isNew := missed.accept(m.Channel, m.Payload); isNew {
				report(e)
				if load := loadOfMachine(); load != "" && e.Kind == "+sdown" && strings.HasPrefix(e.Detail, "master ") {
					report(harness.Event{At: e.At, Kind: harness.EventLoad, Detail: load})
				}
			}
		case *redis.Subscription:
			if !subscribed {
				subscribed, missed.subscribedAt = true, clock.Now()
			}
			if lost {
				report(harness.Event{At: clock.Now(), Kind: harness.EventSubscriptionBack})
				lost = false
			}
		}
		if err == nil {
			continue
		}
		if !lost && subscribed {
			lost, lostAt, unreadReported = true, clock.Now(), false
			report(harness.Event{At: lostAt, Kind: harness.EventSubscriptionLost, Detail: err.Error()})
		}
		select { // the connection broke: the next Receive dials again
		case <-time.After(rolePollEvery):
		case <-ctx.Done():
		}
	}
}

// clockIsRight reports whether the Sentinel's clock shows the time of day of this machine, to within clockTolerance. It
// returns false if the Sentinel does not answer.
func (n *node) clockIsRight(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, roleWithin)
	defer cancel()
	asked := time.Now()
	micros, err := n.infoNumber(ctx, "server", "server_time_usec")
	shown := time.UnixMicro(micros)
	return err == nil && shown.After(asked.Add(-clockTolerance)) && shown.Before(time.Now().Add(clockTolerance))
}

// clockTolerance is the largest error of a Sentinel's clock with which the times in its log still count.
const clockTolerance = 10 * time.Millisecond

// missedMessages finds in a Sentinel's log the messages that our subscription missed: those after the last message that
// we received. If we received none, these are all messages since the subscription began.
type missedMessages struct {
	path         string
	now          func() time.Duration // returns the time on the run's clock
	wall         func() time.Time     // returns the time of day
	clockIsRight func() bool          // asks the Sentinel whether its clock is right
	subscribedAt time.Duration        // when the subscription began
	// last is the latest message that we received or read in the log. Messages of kinds that are not logged do not count.
	// An empty Kind means none.
	last harness.Event
	// fromLog holds when we read a message in the log, by the message's kind and detail. The subscription may still
	// deliver the message.
	fromLog map[[2]string]time.Duration
	// size is the log's size in bytes when we last read it. The field complete says whether the log had all missed
	// messages at that time.
	size     int64
	complete bool
}

// accept returns a received message as an event. The result isNew is false if the message was already read in the log.
func (u *missedMessages) accept(kind, detail string) (e harness.Event, isNew bool) {
	key := [2]string{kind, detail}
	now := u.now()
	at, inLog := u.fromLog[key]
	if delete(u.fromLog, key); inLog && now-at <= 2*deliveredWithin {
		return e, false
	}
	e = harness.Event{At: now, Kind: kind, Detail: detail}
	if strings.HasSuffix(kind, "role-change") { // only these messages are not logged
		return e, true
	}
	e.At = u.loggedAt(kind, detail, now)
	u.last = e
	return e, true
}

// loggedAt returns when the Sentinel logged a message that we have just received. A Sentinel logs a message at once,
// but may write its state to a slow disk before it publishes the message. If the log does not have the message, or if
// the Sentinel's clock is wrong, it returns the time when we received the message, which is the parameter now.
func (u *missedMessages) loggedAt(kind, detail string, now time.Duration) time.Duration {
	log, wall := u.tail(), u.wall()
	for _, zone := range zones {
		all := messagesIn(log, zone, wall, now)
		for _, e := range slices.Backward(all) {
			if e.Kind == kind && e.Detail == detail && e.At <= now+time.Millisecond &&
				now-e.At <= deliveredWithin {
				if now-e.At > clockTolerance && !u.clockIsRight() {
					return now
				}
				return max(u.last.At, min(e.At, now)) // messages of one Sentinel arrive in order
			}
		}
	}
	return now
}

// tail returns the end of the log. It is empty if the log cannot be read.
func (u *missedMessages) tail() string {
	const most = 64 << 10
	f, err := os.Open(u.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err != nil || end <= most {
		_, _ = f.Seek(0, io.SeekStart)
	} else {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	b, _ := io.ReadAll(f) // what could be read
	return string(b)
}

// zones lists the time zones in which a log may be: processes log in local time, containers in UTC.
var zones = []*time.Location{time.Local, time.UTC}

// read lists the messages that were missed. The second result is false if there may be more, because the log was
// truncated or the Sentinel's clock was changed: the log lacks the last message that was received, or times in it
// cannot be right.
func (u *missedMessages) read() (missed []harness.Event, complete bool) {
	info, err := os.Stat(u.path)
	if err != nil {
		return nil, false
	}
	if u.size > 0 && info.Size() == u.size {
		return nil, u.complete
	}
	u.size = info.Size()
	log, wall, now := u.tail(), u.wall(), u.now()
	reachesBack := false
	for _, zone := range zones {
		all := messagesIn(log, zone, wall, now)
		if i := u.firstMissed(all); i >= 0 {
			missed, u.complete = u.plausible(all[i:], now)
			u.noteRead(missed, now)
			return missed, u.complete
		}
		reachesBack = reachesBack || len(all) > 0
	}
	u.complete = u.last.Kind == "" && reachesBack // all that it has was said before the subscription
	return nil, u.complete
}

// firstMissed returns the index of the first missed message in the list of the log's messages: the one after the last
// that was received. It returns -1 if the log does not show that last message at the time when it was received.
func (u *missedMessages) firstMissed(all []harness.Event) int {
	if u.last.Kind == "" { // none was received
		return slices.IndexFunc(all, func(e harness.Event) bool { return e.At >= u.subscribedAt })
	}
	for i, e := range slices.Backward(all) {
		if e.Kind == u.last.Kind && e.Detail == u.last.Detail && (e.At-u.last.At).Abs() <= deliveredWithin {
			return i + 1
		}
	}
	return -1
}

// plausible returns the messages in front of the first implausible time. A time is implausible if it is earlier than
// the time of the preceding message, or later than the present, the parameter now. The second result is true if all
// times are plausible.
func (u *missedMessages) plausible(all []harness.Event, now time.Duration) (first []harness.Event, complete bool) {
	before := u.last.At - deliveredWithin
	for i, e := range all {
		if e.At < before-time.Millisecond || e.At > now+time.Millisecond {
			return all[:i], false
		}
		before = e.At
	}
	return all, true
}

// noteRead records messages that were read in the log, since the subscription may still deliver them.
func (u *missedMessages) noteRead(all []harness.Event, now time.Duration) {
	if u.fromLog == nil {
		u.fromLog = map[[2]string]time.Duration{}
	}
	for _, e := range all {
		u.last, u.fromLog[[2]string{e.Kind, e.Detail}] = e, now
	}
}

// deliveredWithin is the longest time between a Sentinel's log entry and the arrival of the message, by assumption. It
// allows for a busy machine or disk.
const deliveredWithin = 500 * time.Millisecond

// logged matches the lines of a Sentinel's log that are published messages.
var logged = regexp.MustCompile(`^\d+:X (\d+ \w+ \d+ [\d:.]+) [*#] ([+-]\S+) ?(.*)$`)

// messagesIn lists the messages in a Sentinel's log, with times on the run's clock. The parameters now and wall are the
// same moment, on the run's clock and as a time of day. The parameter zone is the time zone of the log.
func messagesIn(log string, zone *time.Location, wall time.Time, now time.Duration) (all []harness.Event) {
	for line := range strings.Lines(log) {
		m := logged.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			continue
		}
		at, err := time.ParseInLocation("2 Jan 2006 15:04:05.000", m[1], zone)
		if err != nil {
			continue
		}
		all = append(all, harness.Event{At: now - wall.Sub(at), Kind: m[2], Detail: m[3]})
	}
	return all
}
