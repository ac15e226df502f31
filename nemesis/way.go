package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Links is what can be done to links; harness/cluster says what each does. What comes back undoes it, beside an error
// as well.
type Links interface {
	Hold(links []harness.Link) (heal func())
	Refuse(links []harness.Link) (heal func())
	Drop(links []harness.Link) (heal func() error, err error)
	DropReplies(links []harness.Link) (heal func() error, err error)
	Latency(links []harness.Link, latency, jitter time.Duration) (heal func() error, err error)
	Bandwidth(links []harness.Link, bytesPerSecond int64) (heal func() error, err error)
	Slice(links []harness.Link, size int, delay time.Duration) (heal func() error, err error)
	LimitData(links []harness.Link, limit int64) (heal func() error, err error)
	SlowClose(links []harness.Link, delay time.Duration) (heal func() error, err error)
}

// Prober looks at a link in a new connection of its own.
type Prober interface {
	// Probe asks to for an answer over the network, from the host from, and waits a fraction of a second for it.
	Probe(ctx context.Context, from, to string) error
	// Echo has to send so many bytes back, and waits for as long as ctx does.
	Echo(ctx context.Context, from, to string, size int) error
	// Hangup closes a connection at its near end and returns when the far end has closed it, too.
	Hangup(ctx context.Context, from, to string) error
}

// Way is what a fault does to the bytes of a link. Made by the functions of this file; the zero value is an error when
// it is injected, and so are values that make no sense.
type Way struct {
	kind   string
	amount string // how much of it, such as "80ms±20ms"; empty where there is nothing to say
	cuts   bool   // nothing is answered any more
	ends   bool   // connections end in the middle
	err    error  // what is wrong with its values, where the cluster cannot tell
	act    func(c Links, links []harness.Link) (heal func() error, err error)
	bites  func(ctx context.Context, c Prober, l harness.Link) (string, error)

	count func(harness.Touched) int64  // by how much it has touched the system; 0: not at all
	tell  func(harness.Touched) string // what it has done
	lacks string                       // what there was none of, where it is not traffic
}

// Kind is the way's name without its values, such as "latency".
func (w Way) Kind() string { return w.kind }

// String is the way's name with its values, such as "hold" or "latency 80ms±20ms".
func (w Way) String() string {
	if w.amount == "" {
		return w.kind
	}
	return w.kind + " " + w.amount
}

// Hold stops bytes and ends of connections where they are; after the heal all of it flows on. A network that loses
// packets looks like this to who is patient: what waited is carried out late.
func Hold() Way {
	w := Way{kind: "hold", cuts: true, bites: unanswered, act: func(c Links, links []harness.Link) (func() error, error) {
		return cannotFail(c.Hold(links)), nil
	}}
	w.count = func(t harness.Touched) int64 { return t.Held + t.Waited }
	w.tell = func(t harness.Touched) string {
		return fmt.Sprintf("held %d B and %d new connections", t.Held, t.Waited)
	}
	return w
}

// Drop loses bytes in both directions: connections hang, and end with the heal.
func Drop() Way {
	w := Way{kind: "drop", cuts: true, bites: unanswered, act: Links.Drop}
	w.count, w.tell = passed("lost")
	return w
}

// DropReplies loses the bytes that come back to who opened the connection: commands are carried out, and nobody hears
// of it. Connections end with the heal.
func DropReplies() Way {
	w := Way{kind: "drop-replies", cuts: true, bites: unanswered, act: Links.DropReplies}
	w.count, w.tell = passed("lost")
	return w
}

// Refuse resets connections, old and new, so that everybody knows at once.
func Refuse() Way {
	w := Way{kind: "refuse", cuts: true, ends: true, bites: unanswered, act: func(c Links, links []harness.Link) (func() error, error) {
		return cannotFail(c.Refuse(links)), nil
	}}
	w.count = func(t harness.Touched) int64 { return t.Reset }
	w.tell = func(t harness.Touched) string { return fmt.Sprintf("reset or refused %d connections", t.Reset) }
	return w
}

// Cuts are the ways that let nothing be answered: those that Partition takes.
func Cuts() []Way { return []Way{Hold(), Drop(), DropReplies(), Refuse()} }

// Latency delays bytes by latency, give or take up to jitter, there and again back, in whole milliseconds. Jitter is
// at most latency, and not repeated by a seed.
func Latency(latency, jitter time.Duration) Way {
	w := Way{kind: "latency", amount: latency.String()}
	if jitter != 0 {
		w.amount += "±" + jitter.String()
	}
	w.act = func(c Links, links []harness.Link) (func() error, error) { return c.Latency(links, latency, jitter) }
	w.bites = func(ctx context.Context, c Prober, l harness.Link) (string, error) {
		return delayed(ctx, c, l, latency, 4*(latency+jitter)+slack)
	}
	w.count, w.tell = passed("delayed")
	return w
}

// mostBandwidth is the widest that can be told from none.
const mostBandwidth = 50_000_000

// Bandwidth lets so many bytes a second pass in each connection, each way: 1000 to 50,000,000, counted in thousands.
func Bandwidth(bytesPerSecond int64) Way {
	w := Way{kind: "bandwidth", amount: fmt.Sprintf("%dB/s", bytesPerSecond)}
	if bytesPerSecond > mostBandwidth {
		w.err = fmt.Errorf("a bandwidth of %d bytes a second is like no limit: give %d or less", bytesPerSecond, mostBandwidth)
	}
	w.act = func(c Links, links []harness.Link) (func() error, error) { return c.Bandwidth(links, bytesPerSecond) }
	w.bites = func(ctx context.Context, c Prober, l harness.Link) (string, error) {
		size := min(max(bytesPerSecond/4, 1000), 1<<20)
		return echoes(ctx, c, l, int(size), time.Duration(size)*time.Second/time.Duration(bytesPerSecond))
	}
	w.count, w.tell = passed("let through")
	return w
}

// Slice cuts bytes into pieces of at most size, 1 to 8192, with a pause of delay, a microsecond or more, after each.
func Slice(size int, delay time.Duration) Way {
	const pieces = 4 // or more: they may be smaller than size
	w := Way{kind: "slicer", amount: fmt.Sprintf("%dB/%v", size, delay)}
	w.act = func(c Links, links []harness.Link) (func() error, error) { return c.Slice(links, size, delay) }
	w.bites = func(ctx context.Context, c Prober, l harness.Link) (string, error) {
		return echoes(ctx, c, l, pieces*size, pieces*delay)
	}
	w.count, w.tell = passed("sliced")
	return w
}

// mostData is the largest limit whose bite is seen soon.
const mostData = 16 << 20

// LimitData ends a connection when so many bytes, 1 to 16 MiB, have passed in one of its directions since the fault
// began, in the middle of a command or an answer if that is where they end.
func LimitData(limit int64) Way {
	w := Way{kind: "limit-data", amount: fmt.Sprintf("%dB", limit), ends: true}
	if limit > mostData {
		w.err = fmt.Errorf("a limit of %d bytes: give %d or less", limit, mostData)
	}
	w.act = func(c Links, links []harness.Link) (func() error, error) { return c.LimitData(links, limit) }
	w.bites = func(ctx context.Context, c Prober, l harness.Link) (string, error) { return ended(ctx, c, l, limit) }
	w.count = func(t harness.Touched) int64 { return t.Ended }
	w.tell = func(t harness.Touched) string { return fmt.Sprintf("ended %d connections", t.Ended) }
	w.lacks = fmt.Sprintf("no connection came to %d B", limit)
	return w
}

// SlowClose passes the end of a connection on after delay, in whole milliseconds: who is gone seems to be there still.
func SlowClose(delay time.Duration) Way {
	w := Way{kind: "slow-close", amount: delay.String()}
	w.act = func(c Links, links []harness.Link) (func() error, error) { return c.SlowClose(links, delay) }
	w.bites = func(ctx context.Context, c Prober, l harness.Link) (string, error) {
		took, err := timed(func() error { return c.Hangup(ctx, l.From, l.To) })
		if err != nil {
			return "", fmt.Errorf("a connection on %v was not closed: %w", l, err)
		}
		if took < delay {
			return "", fmt.Errorf("a connection on %v was closed after %v already, want %v or more", l, took, delay)
		}
		return fmt.Sprintf("a connection on %v was closed after %v", l, took.Round(time.Millisecond)), nil
	}
	w.count, w.tell = passed("lay under")
	return w
}

var errNoWay = errors.New("no way given: choose one, such as nemesis.Hold()")

// check returns what is wrong with the way, as far as can be told without a cluster.
func (w Way) check() error {
	if w.act == nil {
		return errNoWay
	}
	return w.err
}

func cannotFail(heal func()) func() error {
	return func() error { heal(); return nil }
}

// unanswered sees that a probe gets no answer.
func unanswered(ctx context.Context, c Prober, l harness.Link) (string, error) {
	if c.Probe(ctx, l.From, l.To) == nil {
		return "", fmt.Errorf("%s reaches %s all the same", l.From, l.To)
	}
	return fmt.Sprintf("%s does not reach %s", l.From, l.To), nil
}

// slack is what a busy machine may add to an echo.
const slack = 500 * time.Millisecond

// delayed sees an answer take at least latency, and at most so long: a longer wait is another fault's stall, or the
// machine's, and it looks again, until ctx ends. A round trip takes twice the latency on average; with much jitter a single
// one may be quick, but not five.
func delayed(ctx context.Context, c Prober, l harness.Link, latency, most time.Duration) (seen string, err error) {
	quick := 0
	err = poll(ctx, func() (again bool, err error) {
		within, cancel := context.WithTimeoutCause(ctx, most, errStalled)
		defer cancel()
		if seen, err = echoes(within, c, l, 1, latency); err == nil {
			return false, nil
		}
		if context.Cause(within) == errStalled {
			return true, fmt.Errorf("%w, %v: %w", errStalled, most, err)
		}
		quick++
		return quick < 5, err
	})
	return seen, err
}

var errStalled = errors.New("another fault or a busy machine delays it for longer than this one can")

// echoes sees an echo of so many bytes take at least so long.
func echoes(ctx context.Context, c Prober, l harness.Link, size int, least time.Duration) (string, error) {
	took, err := timed(func() error { return c.Echo(ctx, l.From, l.To, size) })
	if err != nil {
		return "", fmt.Errorf("no echo of %d B on %v after %v: %w", size, l, took, err)
	}
	if took < least {
		return "", fmt.Errorf("an echo of %d B on %v took %v only, want %v or more", size, l, took, least)
	}
	return fmt.Sprintf("an echo of %d B on %v took %v", size, l, took.Round(time.Millisecond)), nil
}

// ended sees a connection, once it was there, end before more than limit bytes have passed.
func ended(ctx context.Context, c Prober, l harness.Link, limit int64) (string, error) {
	err := c.Echo(ctx, l.From, l.To, int(limit)+1)
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return "", fmt.Errorf("no connection on %v: %w", l, err)
	}
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() || ctx.Err() != nil {
		return "", fmt.Errorf("a connection on %v did not end after %d B: %v", l, limit, err)
	}
	return fmt.Sprintf("a connection on %v ended within %d B", l, limit), nil
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}
