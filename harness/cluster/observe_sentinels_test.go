package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// noon is the time of day of these tests.
func noon() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local) }

// TestWhatNobodyHeardIsReadFromTheLog has a log of three messages, of which the subscription delivered the first two.
func TestWhatNobodyHeardIsReadFromTheLog(t *testing.T) {
	const now = 10 * time.Second
	line := func(zone *time.Location, ago time.Duration, said string) string {
		return "77:X " + noon().Add(-ago).In(zone).Format("2 Jan 2006 15:04:05.000") + " # " + said + "\n"
	}
	heard := []string{"+elected-leader", "master m 127.1.2.1 6379"}
	log := func(zone *time.Location) string {
		return line(zone, 3*time.Second, "+try-failover master m 127.1.2.1 6379") +
			line(zone, 2*time.Second, "+elected-leader master m 127.1.2.1 6379") +
			line(zone, time.Second, "+promoted-slave slave 127.1.2.2:6379") +
			line(zone, time.Second, "Sentinel CRASH because of SENTINEL simulate-failure")
	}
	for _, c := range []struct {
		name     string
		log      string
		heard    time.Duration // when the last message was heard
		want     int
		complete bool // nothing else was said
	}{
		{"a crash", log(time.Local), 8 * time.Second, 1, true},
		{"in a container", log(time.UTC), 8 * time.Second, 1, true},
		{"heard late on a busy machine", log(time.Local), 8150 * time.Millisecond, 1, true},
		{"a clock that stepped", log(time.Local), 6 * time.Second, 0, false},
		{"a clock that steps ahead afterwards", log(time.Local) + line(time.Local, -time.Minute, "+tilt"),
			8 * time.Second, 1, false},
		{"a clock that steps back afterwards", log(time.Local) + line(time.Local, time.Minute, "+tilt"),
			8 * time.Second, 1, false},
		{"a log that was cut off", line(time.Local, time.Second, "+promoted-slave slave 127.1.2.2:6379"),
			8 * time.Second, 0, false},
		{"all was heard", log(time.Local)[:2*len(line(time.Local, 0, "+elected-leader master m 127.1.2.1 6379"))],
			8 * time.Second, 0, true},
		{"an empty log", "", 8 * time.Second, 0, false},
	} {
		path := filepath.Join(t.TempDir(), "s1.log")
		require.NoError(t, os.WriteFile(path, []byte(c.log), 0o600))
		at := c.heard
		u := missedMessages{path: path, now: func() time.Duration {
			return at
		}, wall: func() time.Time {
			return noon().Add(at - now)
		}, clockIsRight: func() bool {
			return true
		}}
		require.True(t, isNew(u.accept(heard[0], heard[1])), c.name)
		require.True(t, isNew(u.accept("-role-change", "slave 127.1.2.2:6379")), "%s: it is not logged", c.name)
		at = now
		got, complete := u.read()
		require.Len(t, got, c.want, c.name)
		require.Equal(t, c.complete, complete, c.name)
		if c.want > 0 {
			require.Equal(t, harness.Event{At: got[0].At, Kind: "+promoted-slave", Detail: "slave 127.1.2.2:6379"},
				got[0], c.name)
			require.Equal(t, 9*time.Second, got[0].At, c.name)
			again, complete := u.read()
			require.Empty(t, again, "%s: it is read once", c.name)
			require.Equal(t, c.complete, complete, c.name)
			require.False(t, isNew(u.accept(got[0].Kind, got[0].Detail)), "%s: it comes late, after all", c.name)
		}
	}

	path := filepath.Join(t.TempDir(), "s1.log")
	require.NoError(t, os.WriteFile(path, []byte(log(time.Local)), 0o600))
	silent := missedMessages{path: path, now: func() time.Duration { return now }, wall: noon,
		subscribedAt: 7500 * time.Millisecond}
	missed, complete := silent.read()
	require.Len(t, missed, 2, "none was heard: what was said since somebody listened")
	require.True(t, complete)
	missed, _ = silent.read()
	require.Empty(t, missed, "it is read once")

	late := missedMessages{path: path, now: func() time.Duration { return now }, wall: noon, subscribedAt: now}
	missed, complete = late.read()
	require.Empty(t, missed, "all was said before somebody listened")
	require.True(t, complete)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	missed, complete = late.read()
	require.Empty(t, missed)
	require.False(t, complete, "the log was cut off since")

	gone := missedMessages{path: filepath.Join(t.TempDir(), "none"), now: func() time.Duration { return now },
		wall: noon}
	missed, complete = gone.read()
	require.Empty(t, missed)
	require.False(t, complete)
}

func isNew(_ harness.Event, is bool) bool { return is }

// TestAMessageWasSaidWhenItWasLogged checks that the time in the log counts if the Sentinel's clock is right: messages
// of a Sentinel that waits for its disk arrive late.
func TestAMessageWasSaidWhenItWasLogged(t *testing.T) {
	const now, kind, detail = 10 * time.Second, "+sdown", "master m 127.1.2.1 6379"
	for _, c := range []struct {
		name string
		ago  time.Duration
		said string
		off  bool // the Sentinel's clock is wrong
		want time.Duration
	}{
		{"the disk was slow", 200 * time.Millisecond, kind + " " + detail, false, 9800 * time.Millisecond},
		{"heard at once", 0, kind + " " + detail, false, now},
		{"another message", 200 * time.Millisecond, kind + " slave 127.1.2.3:6379", false, now},
		{"the clock is behind", time.Minute, kind + " " + detail, true, now},
		{"the clock is a little behind", 200 * time.Millisecond, kind + " " + detail, true, now},
		{"the clock is ahead", -time.Minute, kind + " " + detail, true, now},
	} {
		path := filepath.Join(t.TempDir(), "s1.log")
		stamp := noon().Add(-c.ago).Format("2 Jan 2006 15:04:05.000")
		require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("old\n", 10_000)+"77:X "+stamp+" # "+c.said+"\n"),
			0o600))
		u := missedMessages{path: path, now: func() time.Duration {
			return now
		}, wall: noon, clockIsRight: func() bool {
			return !c.off
		}}
		e, isNew := u.accept(kind, detail)
		require.True(t, isNew, c.name)
		require.Equal(t, c.want, e.At, c.name)
	}
}
