package cluster

import (
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// watchMessages reports what the Sentinel publishes. What it said last before its connection broke, as before a crash,
// nobody may have heard: that is read from its log. If the log does not have it either, that is reported, once.
func (n *node) watchMessages(ctx context.Context, clock harness.Clock, events func(harness.Event)) {
	sub := n.sentinelClient.PSubscribe(ctx, "*")
	defer sub.Close()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // ends a Receive that waits
	unheard := unheardWords{path: n.logPath, now: clock.Now, wall: time.Now, clockIsRight: func() bool { return n.clockIsRight(ctx) }}
	tell := func(e harness.Event) {
		e.Node = n.name
		events(e)
	}
	subscribed, lost, told := false, false, false
	lostAt := time.Duration(0)
	for ctx.Err() == nil {
		message, err := sub.Receive(ctx)
		if ctx.Err() != nil {
			return
		}
		if lost {
			words, complete := unheard.read()
			for _, e := range words {
				tell(e)
			}
			if !complete && !told {
				tell(harness.Event{At: lostAt, Kind: harness.EventUnread})
				told = true
			}
		}
		switch m := message.(type) {
		case *redis.Message:
			if e, news := unheard.hears(m.Channel, m.Payload); news {
				tell(e)
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
			lost, told, lostAt = true, false, clock.Now()
			tell(harness.Event{At: lostAt, Kind: harness.EventUnheard, Detail: err.Error()})
		}
		select { // the connection broke: the next Receive dials again
		case <-time.After(rolePollEvery):
		case <-ctx.Done():
		}
	}
}

// clockIsRight reports whether the time of day by the Sentinel's clock is that of this machine, to within some
// milliseconds. It is false if the Sentinel does not tell.
func (n *node) clockIsRight(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, roleWithin)
	defer cancel()
	const field = "server_time_usec:"
	asked := time.Now()
	info, err := n.admin.Info(ctx, "server").Result()
	_, value, found := strings.Cut(info, field)
	value, _, _ = strings.Cut(value, "\r\n")
	micros, notNumber := strconv.ParseInt(value, 10, 64)
	if err != nil || !found || notNumber != nil {
		return false
	}
	its := time.UnixMicro(micros)
	return its.After(asked.Add(-clockNear)) && its.Before(time.Now().Add(clockNear))
}

// clockNear is how far a Sentinel's clock may be off for the times in its log to count.
const clockNear = 10 * time.Millisecond

// unheardWords finds in a Sentinel's log what it said and nobody heard: what follows there on the last message that was
// heard or, if none was, all since somebody listened.
type unheardWords struct {
	path         string
	now          func() time.Duration        // on the run's clock
	wall         func() time.Time            // the time of day
	clockIsRight func() bool                 // asks the Sentinel
	since        time.Duration               // when somebody began to listen
	last         harness.Event               // the last logged message that was heard or read; Kind empty: none was
	told         map[[2]string]time.Duration // kinds and details of what was read, and when: it may still be heard
	size         int64                       // of the log when it was read last, in bytes
	complete     bool                        // the log had all that was said, when it was read last
}

// hears returns a message as an event, and reports whether it is news: it may have been read in the log before.
func (u *unheardWords) hears(kind, detail string) (e harness.Event, news bool) {
	word := [2]string{kind, detail}
	now := u.now()
	at, told := u.told[word]
	if delete(u.told, word); told && now-at <= 2*heardWithin {
		return e, false
	}
	e = harness.Event{At: now, Kind: kind, Detail: detail}
	if strings.HasSuffix(kind, "role-change") { // the only ones that are not logged
		return e, true
	}
	e.At = u.saidAt(kind, detail, now)
	u.last = e
	return e, true
}

// saidAt returns when a message was said that is heard at now. A Sentinel logs what it says at once, and may store its
// state on a slow disk before anybody hears it. If the log does not have it, or the Sentinel's clock is wrong, it was said
// at now.
func (u *unheardWords) saidAt(kind, detail string, now time.Duration) time.Duration {
	log, wall := u.tail(), u.wall()
	for _, zone := range zones {
		all := wordsIn(log, zone, wall, now)
		for i := len(all) - 1; i >= 0; i-- {
			if e := all[i]; e.Kind == kind && e.Detail == detail && e.At <= now+time.Millisecond && now-e.At <= heardWithin {
				if now-e.At > clockNear && !u.clockIsRight() {
					return now
				}
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

// read lists what was not heard. complete is false if there may be more: the log does not have the last message that was
// heard, or gives it another time, or what follows has times that cannot be. Then the log was cut off, or the Sentinel's
// clock has stepped.
func (u *unheardWords) read() (unheard []harness.Event, complete bool) {
	info, err := os.Stat(u.path)
	if err != nil {
		return nil, false
	}
	if u.size > 0 && info.Size() == u.size {
		return nil, u.complete
	}
	u.size = info.Size()
	log, wall, now := u.tail(), u.wall(), u.now()
	for _, zone := range zones {
		all := wordsIn(log, zone, wall, now)
		if i := u.place(all); i >= 0 {
			unheard, u.complete = u.possible(all[i:], now)
			u.tell(unheard, now)
			return unheard, u.complete
		}
	}
	u.complete = false
	return nil, false
}

// place returns the index in all, the log, of what follows on the last message that was heard; -1 if that is not in it, at
// its time.
func (u *unheardWords) place(all []harness.Event) int {
	if u.last.Kind == "" { // none was heard
		return slices.IndexFunc(all, func(e harness.Event) bool { return e.At >= u.since })
	}
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		if e.Kind == u.last.Kind && e.Detail == u.last.Detail && (e.At-u.last.At).Abs() <= heardWithin {
			return i + 1
		}
	}
	return -1
}

// possible returns the first of all up to one that was not said after the one before it, or not by now.
func (u *unheardWords) possible(all []harness.Event, now time.Duration) (some []harness.Event, complete bool) {
	before := u.last.At - heardWithin
	for i, e := range all {
		if e.At < before-time.Millisecond || e.At > now+time.Millisecond {
			return all[:i], false
		}
		before = e.At
	}
	return all, true
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
