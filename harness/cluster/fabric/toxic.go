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

	"github.com/doublegrant/doublegrant/harness"
)

// toxic is what toxiproxy does to the bytes of a link's connections.
type toxic struct {
	kind  string // toxiproxy's name for the toxic
	toxic toxics.Toxic
	dirs  []stream.Direction
	ends  bool // when the toxic is removed, the connections on which it acted end
	cuts  bool // the toxic ends connections while it is in force
}

func bothWays() []stream.Direction { return []stream.Direction{stream.Upstream, stream.Downstream} }

// toxicOf returns the toxic for a link fault. For withholding and refusing, which the link does itself, it returns an
// error.
func toxicOf(f harness.LinkFault) (toxic, error) {
	switch f.Kind {
	case harness.LinkDrop:
		return toxic{kind: dropName, toxic: &drop{}, dirs: bothWays(), ends: true}, nil
	case harness.LinkDropReplies:
		return toxic{kind: dropName, toxic: &drop{}, dirs: []stream.Direction{stream.Downstream}, ends: true}, nil
	case harness.LinkLatency:
		return toxic{kind: latencyName, dirs: bothWays(), toxic: &latency{Latency: f.Latency, Jitter: f.Jitter}}, nil
	case harness.LinkBandwidth:
		return toxic{kind: bandwidthName, dirs: bothWays(), toxic: &bandwidth{Rate: f.Bandwidth}}, nil
	case harness.LinkSlicer:
		return toxic{kind: sliceName, dirs: bothWays(), toxic: &slicer{Size: f.Size, Pause: f.Delay}}, nil
	case harness.LinkLimitData: // an old connection's count begins with the fault
		return toxic{kind: limitDataName, dirs: bothWays(), cuts: true, toxic: &limitData{int(f.Bytes)}}, nil
	case harness.LinkSlowClose:
		return toxic{kind: slowCloseName, dirs: bothWays(), toxic: &slowClose{Delay: f.Delay}}, nil
	}
	return toxic{}, fmt.Errorf("fabric: no toxic does %v", f)
}

// ErrStuck says that a toxic could not come or go in time on a link's connections.
var ErrStuck = errors.New(
	"its far side does not read (is it paused?), and toxiproxy changes no connection until it does")

// toxicWithin bounds how long toxiproxy may take to add or remove a toxic. If it takes longer, the connections are
// reset, and toxiproxy gets the same time again. Usually toxiproxy takes a millisecond.
const toxicWithin = 2 * time.Second

// put adds the toxic to old connections and new ones until heal is called. Several toxics, also of one kind, may be in
// force on one link.
//
// toxiproxy waits for every connection whose far side does not read, such as a paused process with full buffers. New
// connections wait with it. If that takes too long, put resets the link's connections, which ends the wait, and returns
// ErrStuck. Even then heal removes the toxic. A heal that has to wait too long resets the connections too, and then
// removes the toxic.
func (l *Link) put(t toxic) (heal func() error, err error) {
	number := l.made.Add(1)
	l.mu.Lock()
	l.toxics++
	l.mu.Unlock()
	l.traffic.countToxic(t, 1)
	stuck, err := l.operate(func() error {
		for _, c := range l.allDialed() {
			c.awaitNoDetour()
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
		l.traffic.countToxic(t, -1)
		return l.remove(t, number)
	}), err
}

func (l *Link) add(t toxic, number int64) error {
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

func (l *Link) remove(t toxic, number int64) error {
	_, err := l.operate(func() error {
		others := l.otherToxics()
		ends := t.ends || t.cuts && others
		if ends {
			// no connection comes meanwhile: toxiproxy handles one that is over better than one that it ends
			accept := l.Refuse()
			defer accept()
		}
		for _, d := range t.dirs {
			err := l.proxy.Toxics.RemoveToxic(context.Background(), toxicName(d, number))
			if err != nil && !errors.Is(err, toxiproxy.ErrToxicNotFound) { // Add failed
				return err
			}
		}
		if others {
			l.noteTorn(ends)
		}
		return nil
	}, l.goDirect)
	if err != nil {
		return fmt.Errorf("fabric: remove %s from %s>%s: %w", t.kind, l.Src, l.Dst, err)
	}
	return nil
}

// otherToxics reports whether the link has a toxic besides the one that is being removed. Toxics that are being added
// or removed count too.
func (l *Link) otherToxics() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.toxics > 1
}

// detour makes all connections of the link go through toxiproxy, to which the new toxic has been added.
func (l *Link) detour() {
	all := l.allDialed()
	for _, c := range all {
		c.beginDetour()
	}
	for _, c := range all {
		c.detourNow()
	}
}

// goDirect records that a toxic was removed. After the link's last toxic, the connections leave toxiproxy.
func (l *Link) goDirect() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.toxics--; l.toxics > 0 {
		return
	}
	for _, c := range l.allDialed() {
		c.returnDirect()
	}
}

func toxicName(d stream.Direction, number int64) string { return fmt.Sprintf("%v #%d", d, number) }

// operate calls the parameter op, which adds or removes a toxic, and then the parameter finish. Operations on one link
// run one after another. If op takes too long, operate resets the link's connections, so that op can end, and returns
// true.
func (l *Link) operate(op func() error, finish func()) (stuck bool, err error) {
	done, over := make(chan error, 1), make(chan struct{})
	go func() {
		l.changing.Lock() // a heal follows its own fault, however late that comes
		defer l.changing.Unlock()
		defer close(over)
		done <- op()
		finish()
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
