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

// watchMessages reports the messages that the Sentinel publishes. Its last messages before a broken connection, as in a
// crash, may have been lost. They are read from its log.
func (n *node) watchMessages(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	sub := n.sentinelClient.PSubscribe(ctx, "*")
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends a Receive that waits
	missed := missedMessages{path: n.logPath, now: clock.Now, wall: time.Now}
	report := func(e harness.Event) {
		e.Node = n.name
		events(e)
	}
	subscribed, lost := false, false
	for ctx.Err() == nil {
		message, err := sub.Receive(ctx)
		if ctx.Err() != nil {
			return
		}
		if lost {
			for _, e := range missed.read() {
				report(e)
			}
		}
		switch m := message.(type) {
		case *redis.Message:
			if missed.accept(m.Channel, m.Payload) {
				report(missed.last)
			}
		case *redis.Subscription:
			if !subscribed {
				subscribed, missed.subscribedAt = true, clock.Now()
			}
			if lost {
				report(harness.Event{At: clock.Now(), Kind: harness.EventHeard})
				lost = false
			}
		}
		if err == nil {
			continue
		}
		if !lost && subscribed {
			report(harness.Event{At: clock.Now(), Kind: harness.EventUnheard, Detail: err.Error()})
			lost = true
		}
		select { // the connection broke: the next Receive dials again
		case <-time.After(rolePollEvery):
		case <-ctx.Done():
		}
	}
}

// missedMessages finds in a Sentinel's log the messages that its subscriber missed: those after the last message that
// was received or, if none was, those since the subscription.
type missedMessages struct {
	path         string
	now          func() time.Duration // on the run's clock
	wall         func() time.Time     // the time of day
	subscribedAt time.Duration        // when the subscription began
	// The last message that was received or read in the log. An empty Kind means none.
	last harness.Event
	// When messages were read in the log, by kind and detail: they may still be received.
	fromLog map[[2]string]time.Duration
	size    int64 // of the log when it was read last, in bytes
}

// accept records a received message. It returns false if the message was already read in the log.
func (u *missedMessages) accept(kind, detail string) bool {
	word := [2]string{kind, detail}
	now := u.now()
	at, inLog := u.fromLog[word]
	if delete(u.fromLog, word); inLog && now-at <= 2*deliveredWithin {
		return false
	}
	u.last = harness.Event{At: u.loggedAt(kind, detail, now), Kind: kind, Detail: detail}
	return true
}

// loggedAt returns when a message that is received at now was sent. A Sentinel logs a message at once, and may then
// write its state to a slow disk before it publishes the message. If the log does not have the message, or has it at a
// time that does not fit, the result is now.
func (u *missedMessages) loggedAt(kind, detail string, now time.Duration) time.Duration {
	log, wall := u.tail(), u.wall()
	for _, zone := range zones {
		all := messagesIn(log, zone, wall, now)
		for i := len(all) - 1; i >= 0; i-- {
			if e := all[i]; e.Kind == kind && e.Detail == detail && e.At <= now+time.Millisecond &&
				now-e.At <= deliveredWithin {
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

// zones are the time zones of a log: containers log in UTC.
var zones = []*time.Location{time.Local, time.UTC}

// read lists the messages that were missed. It is empty if the log does not have the last message that was received, or
// has it at another time: then the log was truncated, or the Sentinel's clock was changed.
func (u *missedMessages) read() []harness.Event {
	info, err := os.Stat(u.path)
	if err != nil || info.Size() == u.size {
		return nil
	}
	u.size = info.Size()
	log, wall, now := u.tail(), u.wall(), u.now()
	for _, zone := range zones {
		if all, ok := u.missedAfter(messagesIn(log, zone, wall, now), now); ok {
			return all
		}
	}
	return nil
}

// missedAfter returns the messages in all that follow the last received one. ok is false if that one is not in all, at
// its time.
func (u *missedMessages) missedAfter(all []harness.Event, now time.Duration) (following []harness.Event, ok bool) {
	if u.last.Kind == "" { // none was received
		following = slices.DeleteFunc(all, func(e harness.Event) bool {
			return e.At < u.subscribedAt || e.At > now+time.Millisecond
		})
		u.noteRead(following, now)
		return following, len(following) > 0
	}
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		if e.Kind == u.last.Kind && e.Detail == u.last.Detail && (e.At-u.last.At).Abs() <= deliveredWithin {
			u.noteRead(all[i+1:], now)
			return all[i+1:], true
		}
	}
	return nil, false
}

// noteRead records messages that were read in the log, since they may still be received.
func (u *missedMessages) noteRead(all []harness.Event, now time.Duration) {
	if u.fromLog == nil {
		u.fromLog = map[[2]string]time.Duration{}
	}
	for _, e := range all {
		u.last, u.fromLog[[2]string{e.Kind, e.Detail}] = e, now
	}
}

// deliveredWithin is the time within which a message that a Sentinel logs is received, even on a busy machine or disk.
const deliveredWithin = 500 * time.Millisecond

// logged matches the lines of a Sentinel's log that are messages which it also published.
var logged = regexp.MustCompile(`^\d+:X (\d+ \w+ \d+ [\d:.]+) [*#] ([+-]\S+) ?(.*)$`)

// messagesIn lists the messages in a Sentinel's log, with times on the run's clock, which shows now at the time of day
// wall. zone is the time zone of the log: containers log in UTC, processes in the zone of this machine.
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
