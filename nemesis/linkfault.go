package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Linked is a system whose links can suffer faults.
type Linked interface {
	Topology
	harness.LinkControl
}

// Cuts lists the link faults that let no answer through. Partition takes these.
func Cuts() []harness.LinkFault {
	return []harness.LinkFault{harness.Withhold(), harness.Drop(), harness.DropReplies(), harness.Refuse()}
}

// cutsLink reports whether the fault lets no answer through.
func cutsLink(f harness.LinkFault) bool { return f.Effects().Has(harness.CutsLinks) }

// linkProof measures whether a link fault acts, and tells what the fault has touched.
type linkProof struct {
	// bites measures a link, and returns in words what it saw. An error means that the fault does not act there.
	bites func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error)
	// count returns the amount of traffic that the fault has touched: bytes, or connections for some faults. 0: nothing.
	count func(harness.Touched) int64
	tell  func(harness.Touched) string // says what the fault has done
	lacks string                       // the word for what was missing if count returns 0; empty: "traffic"
}

// proofOf returns the proof of a valid link fault.
func proofOf(f harness.LinkFault) linkProof {
	switch f.Kind {
	case harness.LinkWithhold:
		return linkProof{bites: unanswered, count: func(t harness.Touched) int64 { return t.Withheld + t.Waited },
			tell: tellWithheld}
	case harness.LinkRefuse:
		return linkProof{bites: unanswered, count: func(t harness.Touched) int64 { return t.Reset }, tell: tellResets}
	case harness.LinkLatency:
		return actsOnAllBytes("delayed",
			func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
				return answersLate(ctx, c, l, f.Latency, 4*(f.Latency+f.Jitter)+slack)
			})
	case harness.LinkBandwidth:
		return actsOnAllBytes("let through",
			func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
				size := min(max(f.Bandwidth/4, 1000), 1<<20)
				return echoTakes(ctx, c, l, int(size), time.Duration(size)*time.Second/time.Duration(f.Bandwidth))
			})
	case harness.LinkSlicer:
		const pieces = 4 // or more: they may be smaller than the size
		return actsOnAllBytes("sliced",
			func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
				return echoTakes(ctx, c, l, pieces*f.Size, pieces*f.Delay)
			})
	case harness.LinkLimitData:
		return endsConnections(f.Bytes)
	case harness.LinkSlowClose:
		return actsOnAllBytes("lay under",
			func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
				return closedLate(ctx, c, l, f.Delay)
			})
	}
	return actsOnAllBytes("lost", unanswered) // drop, drop-replies
}

// actsOnAllBytes returns the proof of a fault that acts on all bytes. The parameter verb is the word for what the fault
// does to them.
func actsOnAllBytes(verb string,
	bites func(context.Context, harness.LinkControl, harness.Link) (string, error)) linkProof {
	return linkProof{
		bites: bites,
		count: func(t harness.Touched) int64 { return t.Passed },
		tell:  func(t harness.Touched) string { return fmt.Sprintf("%s %d B", verb, t.Passed) },
	}
}

// endsConnections returns the proof of a fault that ends a connection after the given number of bytes.
func endsConnections(bytes int64) linkProof {
	return linkProof{
		bites: func(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
			return connectionEnds(ctx, c, l, bytes)
		},
		count: func(t harness.Touched) int64 { return t.Ended },
		tell:  func(t harness.Touched) string { return fmt.Sprintf("ended %d connections", t.Ended) },
		lacks: fmt.Sprintf("no connection came to %d B", bytes),
	}
}

func tellWithheld(t harness.Touched) string {
	return fmt.Sprintf("held %d B and %d new connections", t.Withheld, t.Waited)
}

func tellResets(t harness.Touched) string {
	return fmt.Sprintf("reset or refused %d connections", t.Reset)
}

// closedLate checks that the end of a connection takes at least the given delay to pass.
func closedLate(ctx context.Context, c harness.LinkControl, l harness.Link, delay time.Duration) (string, error) {
	took, err := timeTaken(func() error { return c.Hangup(ctx, l.From, l.To) })
	if err != nil {
		return "", fmt.Errorf("a connection on %v was not closed: %w", l, err)
	}
	if took < delay {
		return "", fmt.Errorf("a connection on %v was closed after %v already, want %v or more", l, took, delay)
	}
	return fmt.Sprintf("a connection on %v was closed after %v", l, took.Round(time.Millisecond)), nil
}

// unanswered checks that a probe gets no answer.
func unanswered(ctx context.Context, c harness.LinkControl, l harness.Link) (string, error) {
	if c.Probe(ctx, l.From, l.To) == nil {
		return "", fmt.Errorf("%s reaches %s all the same", l.From, l.To)
	}
	return fmt.Sprintf("%s does not reach %s", l.From, l.To), nil
}

// slack bounds the time that a busy machine may add to an echo.
const slack = 500 * time.Millisecond

// answersLate checks that an answer takes at least the given latency. It asks again if an answer takes longer than the
// parameter limit, since another fault or a busy machine may be the cause. It also asks again if an answer comes too
// early: a round trip takes twice the latency on average, but jitter may shorten it. The fifth early answer is an
// error.
func answersLate(
	ctx context.Context, c harness.LinkControl, l harness.Link, latency, limit time.Duration,
) (seen string, err error) {
	quick := 0
	err = poll(ctx, func() (again bool, err error) {
		within, cancel := context.WithTimeoutCause(ctx, limit, errStalled)
		defer cancel()
		if seen, err = echoTakes(within, c, l, 1, latency); err == nil {
			return false, nil
		}
		if context.Cause(within) == errStalled {
			return true, fmt.Errorf("%w, %v: %w", errStalled, limit, err)
		}
		quick++
		return quick < 5, err
	})
	return seen, err
}

var errStalled = errors.New("another fault or a busy machine delays it for longer than this one can")

// echoTakes checks that an echo of the given size takes at least the time in the parameter shortest.
func echoTakes(
	ctx context.Context, c harness.LinkControl, l harness.Link, size int, shortest time.Duration,
) (string, error) {
	took, err := timeTaken(func() error { return c.Echo(ctx, l.From, l.To, size) })
	if err != nil {
		return "", fmt.Errorf("no echo of %d B on %v after %v: %w", size, l, took, err)
	}
	if took < shortest {
		return "", fmt.Errorf("an echo of %d B on %v took %v only, want %v or more", size, l, took, shortest)
	}
	return fmt.Sprintf("an echo of %d B on %v took %v", size, l, took.Round(time.Millisecond)), nil
}

// connectionEnds checks that a connection, once open, ends before more bytes have passed than the parameter limit
// allows.
func connectionEnds(ctx context.Context, c harness.LinkControl, l harness.Link, limit int64) (string, error) {
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

func timeTaken(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}
