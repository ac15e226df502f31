package fabric

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Toxic is something that toxiproxy does to the bytes of a link's connections. Made by the constructors below; the zero
// value is not usable. Unless said otherwise it acts on each connection and on each direction by itself, and old
// connections live on when it heals.
type Toxic struct {
	kind  string // toxiproxy's name
	toxic toxics.Toxic
	dirs  []stream.Direction
	ends  bool // connections that had it end with it
	cuts  bool // it ends connections itself
	err   error
}

// Check returns what is wrong with the values that the toxic was made with.
func (t Toxic) Check() error { return t.err }

var bothWays = []stream.Direction{stream.Upstream, stream.Downstream}

// Drop loses every byte, in both directions. Ends of connections still pass. Connections cannot go on after a gap, so
// the heal resets them.
func Drop() Toxic {
	return Toxic{kind: "drop", toxic: &drop{}, dirs: bothWays, ends: true}
}

// DropReplies loses the bytes that come back to who opened the connection: commands are carried out and their answers
// lost. The heal resets the connections.
func DropReplies() Toxic {
	return Toxic{kind: "drop", toxic: &drop{}, dirs: []stream.Direction{stream.Downstream}, ends: true}
}

// Latency delays bytes by latency, give or take up to jitter, on their way there and again on their way back: a round
// trip takes twice as long. In whole milliseconds, at least one; jitter is at most latency. The jitter is toxiproxy's
// own chance and not repeated by a seed. The heal lets what waits pass at once.
func Latency(latency, jitter time.Duration) Toxic {
	t := Toxic{kind: "latency", dirs: bothWays, toxic: &toxics.LatencyToxic{
		Latency: latency.Milliseconds(), Jitter: jitter.Milliseconds(),
	}}
	if latency < time.Millisecond || jitter < 0 || jitter > latency {
		t.err = fmt.Errorf("a latency of %v with a jitter of %v: give 1ms or more, and a jitter of at most that", latency, jitter)
	}
	return t
}

// Bandwidth lets so many bytes a second pass, at least 1000 and counted in whole thousands.
func Bandwidth(bytesPerSecond int64) Toxic {
	t := Toxic{kind: "bandwidth", dirs: bothWays, toxic: &toxics.BandwidthToxic{Rate: bytesPerSecond / 1000}}
	if bytesPerSecond < 1000 {
		t.err = fmt.Errorf("a bandwidth of %d bytes a second: give 1000 or more", bytesPerSecond)
	}
	return t
}

// Slice cuts what passes into pieces of at most size bytes, and about half of that at least, with a pause of delay after
// each, in whole microseconds. Size is at most 8192, what a link reads at once. Without a delay the kernel would put the
// pieces together again, so it has to be positive.
func Slice(size int, delay time.Duration) Toxic {
	t := Toxic{kind: "slicer", dirs: bothWays, toxic: &toxics.SlicerToxic{AverageSize: size, Delay: int(delay.Microseconds())}}
	if size < 1 || size > copyBuffer || delay < time.Microsecond {
		t.err = fmt.Errorf("slices of %d bytes with a delay of %v: give 1 to %d bytes, and 1µs or more", size, delay, copyBuffer)
	}
	return t
}

// LimitData ends a connection when so many bytes, at least one, have passed in one of its directions, in the middle of a
// command or an answer if that is where they end; what is under way in the other direction is lost. An old connection's
// count begins with the fault. If other toxics are in force, the heal resets the link's connections: toxiproxy
// does not tell which of them it is ending.
func LimitData(limit int64) Toxic {
	t := Toxic{kind: "limit-data", dirs: bothWays, cuts: true, toxic: &limitData{int(limit)}}
	if limit < 1 {
		t.err = fmt.Errorf("a limit of %d bytes: give 1 or more", limit)
	}
	return t
}

// SlowClose passes the end of a connection on after delay, in whole milliseconds, at least one. Bytes are not delayed.
// The heal ends what waits to be closed.
func SlowClose(delay time.Duration) Toxic {
	t := Toxic{kind: "slow_close", dirs: bothWays, toxic: &toxics.SlowCloseToxic{Delay: delay.Milliseconds()}}
	if delay < time.Millisecond {
		t.err = fmt.Errorf("a slow close of %v: give 1ms or more", delay)
	}
	return t
}

// ErrStuck says that a toxic could not come or go in time on a link's connections.
var ErrStuck = errors.New("its far side does not read (is it paused?), and toxiproxy changes no connection until it does")

// toxicWithin bounds how long a toxic takes to come or go, and again how long after the connections were reset; a
// millisecond is usual.
const toxicWithin = 2 * time.Second

// Add puts the toxic into old connections and new ones until heal, which may be called more than once and is never nil.
// Several toxics, and several of one kind, may be in force on one link.
//
// toxiproxy waits, and with it every new connection, for as long as the far side of one connection does not read, as a
// paused process with full buffers. Add then resets the link's connections and returns ErrStuck; heal still takes
// the toxic away. A heal that is stuck resets the connections and goes on.
func (l *Link) Add(t Toxic) (heal func() error, err error) {
	if t.err != nil {
		return func() error { return nil }, fmt.Errorf("fabric: %w", t.err)
	}
	number := l.made.Add(1)
	l.mu.Lock()
	l.toxics++
	l.mu.Unlock()
	l.traffic.act(t, 1)
	stuck, err := l.operate(func() error {
		for _, c := range l.allNear() {
			c.settle()
		}
		l.awaitTorn()
		return l.add(t, number)
	}, l.detour)
	if stuck {
		err = errors.Join(err, ErrStuck)
	}
	if err != nil {
		err = fmt.Errorf("fabric: add %s to %s>%s: %w", t.kind, l.Src, l.Dst, err)
	}
	return sync.OnceValue(func() error {
		l.traffic.act(t, -1)
		return l.remove(t, number)
	}), err
}

func (l *Link) add(t Toxic, number int64) error {
	for _, d := range t.dirs {
		// Its own type, as JSON: toxiproxy adds toxics in no other way.
		w, err := json.Marshal(toxics.ToxicWrapper{
			Toxic: t.toxic, Name: toxicName(d, number), Type: t.kind, Stream: d.String(), Toxicity: 1,
		})
		if err != nil {
			return err
		}
		if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewReader(w)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Link) remove(t Toxic, number int64) error {
	_, err := l.operate(func() error {
		others := l.otherToxics()
		ends := t.ends || t.cuts && others
		if ends {
			accept := l.Refuse() // nobody gets in between: toxiproxy handles a connection that is over better than one it ends
			defer accept()
		}
		for _, d := range t.dirs {
			err := l.proxy.Toxics.RemoveToxic(context.Background(), toxicName(d, number))
			if err != nil && !errors.Is(err, toxiproxy.ErrToxicNotFound) { // Add failed
				return err
			}
		}
		if others {
			l.tear(ends)
		}
		return nil
	}, l.goDirect)
	if err != nil {
		return fmt.Errorf("fabric: remove %s from %s>%s: %w", t.kind, l.Src, l.Dst, err)
	}
	return nil
}

// otherToxics reports whether toxics besides one are in force, coming or going.
func (l *Link) otherToxics() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.toxics > 1
}

// detour leads the near connections through toxiproxy, where the toxic is by now.
func (l *Link) detour() {
	all := l.allNear()
	for _, c := range all {
		c.quit()
	}
	for _, c := range all {
		c.detourNow()
	}
}

// goDirect counts a toxic that has gone. After the last, near connections come back from toxiproxy.
func (l *Link) goDirect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.toxics--; l.toxics > 0 {
		return
	}
	for _, c := range l.allNear() {
		c.comeBack()
	}
}

func toxicName(d stream.Direction, number int64) string { return fmt.Sprintf("%v #%d", d, number) }

// operate runs op, which changes toxics. An op that does not end is freed by resetting the link's connections: stuck. What
// follows op waits for nobody else, but is of all connections.
func (l *Link) operate(op func() error, then func()) (stuck bool, err error) {
	done, over := make(chan error, 1), make(chan struct{})
	go func() {
		l.changing.Lock() // a heal follows its own fault, however late that comes
		defer l.changing.Unlock()
		defer close(over)
		done <- op()
		then()
	}()
	select {
	case err := <-done:
		<-over
		return false, err
	case <-time.After(toxicWithin):
	}
	l.mu.Lock()
	l.resetAll()
	l.mu.Unlock()
	select {
	case err := <-done:
		<-over
		return true, err
	case <-time.After(toxicWithin):
		return true, fmt.Errorf("not even after a reset: %w", ErrStuck)
	}
}
