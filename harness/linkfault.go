package harness

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// LinkFault says what happens to the bytes of a link while a fault is in force. The constructors below make it. It is
// comparable. The zero value is not a fault: Validate returns ErrNoLinkFault for it.
//
// Unless a constructor says otherwise, a link fault acts on each connection and on each direction separately, and
// connections survive its heal.
type LinkFault struct {
	Kind LinkFaultKind

	// Arguments of the constructor for the link fault's Kind. Fields that this constructor does not take are zero.
	Latency   time.Duration
	Jitter    time.Duration
	Bandwidth int64 // in bytes a second
	Size      int   // in bytes
	Delay     time.Duration
	Bytes     int64
}

// LinkFaultKind names a link fault without its values.
type LinkFaultKind string

// The kinds of link faults. See the constructors.
const (
	LinkWithhold    LinkFaultKind = "hold"
	LinkDrop        LinkFaultKind = "drop"
	LinkDropReplies LinkFaultKind = "drop-replies"
	LinkRefuse      LinkFaultKind = "refuse"
	LinkLatency     LinkFaultKind = "latency"
	LinkBandwidth   LinkFaultKind = "bandwidth"
	LinkSlicer      LinkFaultKind = "slicer"
	LinkLimitData   LinkFaultKind = "limit-data"
	LinkSlowClose   LinkFaultKind = "slow-close"
)

// Bounds of link faults. Most of them keep out values whose effect would be too small, or too large, to be observed.
const (
	leastLatency, mostLatency     = time.Millisecond, time.Minute
	leastBandwidth, mostBandwidth = 1000, 50_000_000
	mostSize                      = 8192 // number of bytes that a link reads at once
	leastPause, mostPause         = time.Microsecond, time.Second
	mostBytes                     = 16 << 20
	leastClose, mostClose         = 10 * time.Millisecond, time.Minute
)

// Withhold stops bytes and ends of connections where they are. After the heal they all flow on. So commands that waited
// are executed late, as in a network that loses packets.
func Withhold() LinkFault { return LinkFault{Kind: LinkWithhold} }

// Drop loses bytes in both directions. Ends of connections still pass. A connection cannot continue after a gap, so the
// heal resets it.
func Drop() LinkFault { return LinkFault{Kind: LinkDrop} }

// DropReplies loses the bytes that return to the host that opened the connection: commands are executed, but their
// answers are lost. The heal resets the connections.
func DropReplies() LinkFault { return LinkFault{Kind: LinkDropReplies} }

// Refuse resets connections, old and new, so that both ends notice at once.
func Refuse() LinkFault { return LinkFault{Kind: LinkRefuse} }

// Latency delays bytes by latency, plus or minus up to jitter, in each direction, so a round trip is delayed twice.
// latency is 1 ms to 1 minute, jitter 0 to latency. The jitter does not depend on the run's seed. The heal lets delayed
// bytes pass at once.
func Latency(latency, jitter time.Duration) LinkFault {
	return LinkFault{Kind: LinkLatency, Latency: latency, Jitter: jitter}
}

// Bandwidth limits each direction of each connection to a number of bytes a second, 1000 to 50,000,000.
func Bandwidth(bytesPerSecond int64) LinkFault {
	return LinkFault{Kind: LinkBandwidth, Bandwidth: bytesPerSecond}
}

// Slice cuts what passes into pieces of at most size bytes, with a pause of delay after each. size is 1 to 8192. delay
// is 1 µs to 1 s: without one the kernel would join the pieces again.
func Slice(size int, delay time.Duration) LinkFault {
	return LinkFault{Kind: LinkSlicer, Size: size, Delay: delay}
}

// LimitData ends a connection when the given number of bytes has passed in one of its directions since the fault began,
// even in the middle of a command or a reply. bytes is 1 to 16 MiB. Bytes under way in the other direction are lost.
// The heal resets the link's connections if a fault other than Withhold or Refuse still acts on the link.
func LimitData(bytes int64) LinkFault { return LinkFault{Kind: LinkLimitData, Bytes: bytes} }

// SlowClose forwards the end of a connection after delay, 10 ms to 1 minute: a host that is gone still seems to be
// there. Bytes are not delayed. The heal closes the delayed connections.
func SlowClose(delay time.Duration) LinkFault { return LinkFault{Kind: LinkSlowClose, Delay: delay} }

// ErrNoLinkFault is the error of Validate for the zero value.
var ErrNoLinkFault = errors.New("no link fault given: choose one, such as harness.Withhold()")

// BoundsError says that a value is outside its bounds.
type BoundsError struct {
	Parameter       string // name of the value, such as "latency"
	Is, Least, Most any
}

// Error names the value and its bounds, such as "latency is 0s: ask for 1ms to 1m0s".
func (e *BoundsError) Error() string {
	return fmt.Sprintf("%s is %v: ask for %v to %v", e.Parameter, e.Is, e.Least, e.Most)
}

// Validate returns an error if the fault cannot be injected: ErrNoLinkFault, or a *BoundsError for a value outside the
// bounds that its constructor names.
func (f LinkFault) Validate() error {
	switch f.Kind {
	case LinkWithhold, LinkDrop, LinkDropReplies, LinkRefuse:
		return nil
	case LinkLatency:
		return cmp.Or(inBounds("latency", f.Latency, leastLatency, mostLatency),
			inBounds("jitter", f.Jitter, 0, f.Latency))
	case LinkBandwidth:
		return inBounds("bandwidth", f.Bandwidth, leastBandwidth, mostBandwidth)
	case LinkSlicer:
		return cmp.Or(inBounds("size", f.Size, 1, mostSize), inBounds("delay", f.Delay, leastPause, mostPause))
	case LinkLimitData:
		return inBounds("bytes", f.Bytes, 1, mostBytes)
	case LinkSlowClose:
		return inBounds("delay", f.Delay, leastClose, mostClose)
	case "":
		return ErrNoLinkFault
	}
	return fmt.Errorf("unknown link fault %q", string(f.Kind))
}

func inBounds[T int | int64 | time.Duration](parameter string, is, least, most T) error {
	if is < least || is > most {
		return &BoundsError{parameter, is, least, most}
	}
	return nil
}

// Effects returns what the fault does to links.
func (f LinkFault) Effects() Effects {
	switch f.Kind {
	case LinkWithhold, LinkDrop, LinkDropReplies:
		return CutsLinks
	case LinkRefuse:
		return CutsLinks | EndsConnections
	case LinkLimitData:
		return EndsConnections
	}
	return SlowsLinks
}

// String returns the fault's kind with its values, such as "hold" or "latency 80ms±20ms".
func (f LinkFault) String() string {
	kind := string(f.Kind)
	switch f.Kind {
	case LinkLatency:
		if f.Jitter != 0 {
			return fmt.Sprintf("%s %v±%v", kind, f.Latency, f.Jitter)
		}
		return fmt.Sprintf("%s %v", kind, f.Latency)
	case LinkBandwidth:
		return fmt.Sprintf("%s %dB/s", kind, f.Bandwidth)
	case LinkSlicer:
		return fmt.Sprintf("%s %dB/%v", kind, f.Size, f.Delay)
	case LinkLimitData:
		return fmt.Sprintf("%s %dB", kind, f.Bytes)
	case LinkSlowClose:
		return fmt.Sprintf("%s %v", kind, f.Delay)
	}
	return kind
}
