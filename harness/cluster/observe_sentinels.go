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

// watchMessages reports what the Sentinel publishes. What it said last before its connection broke, as before a crash,
// nobody may have heard: that is read from its log.
func (n *node) watchMessages(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	sub := n.sentinelClient.PSubscribe(ctx, "*")
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends a Receive that waits
	unheard := unheardWords{path: n.logPath, now: clock.Now, wall: time.Now}
	tell := func(e harness.Event) {
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
			for _, e := range unheard.read() {
				tell(e)
			}
		}
		switch m := message.(type) {
		case *redis.Message:
			if unheard.hears(m.Channel, m.Payload) {
				tell(unheard.last)
			}
		case *redis.Subscription:
			if !subscribed {
				subscribed, unheard.since = true, clock.Now()
			}
			if lost {
				tell(harness.Event{At: clock.Now(), Kind: harness.EventHeard})
				lost = false
			}
		}
		if err == nil {
			continue
		}
		if !lost && subscribed {
			tell(harness.Event{At: clock.Now(), Kind: harness.EventUnheard, Detail: err.Error()})
			lost = true
		}
		select { // the connection broke: the next Receive dials again
		case <-time.After(rolePollEvery):
		case <-ctx.Done():
		}
	}
}

// unheardWords finds in a Sentinel's log what it said and nobody heard: what follows there on the last message that was
// heard or, if none was, all since somebody listened.
type unheardWords struct {
	path  string
	now   func() time.Duration        // on the run's clock
	wall  func() time.Time            // the time of day
	since time.Duration               // when somebody began to listen
	last  harness.Event               // the last that was heard or read; Kind empty: none was
	told  map[[2]string]time.Duration // kinds and details of what was read, and when: it may still be heard
	size  int64                       // of the log when it was read last, in bytes
}

// hears notes a message, and reports whether it is news: it may have been read in the log before.
func (u *unheardWords) hears(kind, detail string) bool {
	word := [2]string{kind, detail}
	now := u.now()
	at, told := u.told[word]
	if delete(u.told, word); told && now-at <= 2*heardWithin {
		return false
	}
	u.last = harness.Event{At: u.saidAt(kind, detail, now), Kind: kind, Detail: detail}
	return true
}

// saidAt returns when a message was said that is heard at now. A Sentinel logs what it says at once, and may store its
// state on a slow disk before anybody hears it. If the log does not have it, or has another time, it was said at now.
func (u *unheardWords) saidAt(kind, detail string, now time.Duration) time.Duration {
	log, wall := u.tail(), u.wall()
	for _, zone := range zones {
		all := wordsIn(log, zone, wall, now)
		for i := len(all) - 1; i >= 0; i-- {
			if e := all[i]; e.Kind == kind && e.Detail == detail && e.At <= now+time.Millisecond &&
				now-e.At <= heardWithin {
				return max(u.last.At, min(e.At, now)) // its messages come in order
			}
		}
	}
	return now
}

// tail returns the end of the log, empty if it cannot be read.
func (u *unheardWords) tail() string {
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

// read lists what was not heard. It is empty if the log does not have the last message that was heard, or gives it
// another time: then the log was cut off, or the Sentinel's clock has stepped.
func (u *unheardWords) read() []harness.Event {
	info, err := os.Stat(u.path)
	if err != nil || info.Size() == u.size {
		return nil
	}
	u.size = info.Size()
	log, wall, now := u.tail(), u.wall(), u.now()
	for _, zone := range zones {
		if all, ok := u.after(wordsIn(log, zone, wall, now), now); ok {
			return all
		}
	}
	return nil
}

// after returns what follows on the last message that was heard, by now. ok is false if that is not in all, at its
// time.
func (u *unheardWords) after(all []harness.Event, now time.Duration) (following []harness.Event, ok bool) {
	if u.last.Kind == "" { // none was heard
		following = slices.DeleteFunc(all, func(e harness.Event) bool {
			return e.At < u.since || e.At > now+time.Millisecond
		})
		u.tell(following, now)
		return following, len(following) > 0
	}
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		if e.Kind == u.last.Kind && e.Detail == u.last.Detail && (e.At-u.last.At).Abs() <= heardWithin {
			u.tell(all[i+1:], now)
			return all[i+1:], true
		}
	}
	return nil, false
}

// tell notes that messages were read: they may still be heard.
func (u *unheardWords) tell(all []harness.Event, now time.Duration) {
	if u.told == nil {
		u.told = map[[2]string]time.Duration{}
	}
	for _, e := range all {
		u.last, u.told[[2]string{e.Kind, e.Detail}] = e, now
	}
}

// heardWithin is the time within which what a Sentinel logs is heard, also on a busy machine or disk.
const heardWithin = 500 * time.Millisecond

// logged is a line of a Sentinel's log that it published as well, or would have.
var logged = regexp.MustCompile(`^\d+:X (\d+ \w+ \d+ [\d:.]+) [*#] ([+-]\S+) ?(.*)$`)

// wordsIn lists what a Sentinel said by its log, with times on the run's clock, which is at now at the time wall.
// Containers log in UTC, processes in the zone of this machine: zone is that of the log.
func wordsIn(log string, zone *time.Location, wall time.Time, now time.Duration) (all []harness.Event) {
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
