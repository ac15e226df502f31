package fabric

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// This file has toxics of our own in place of the four of toxiproxy that delay. Those delay less than they are asked
// to:
//   - A second latency on a connection subtracts from its delay the time that a chunk has waited since it was read. The
//     first adds less than that to the chunk's Timestamp, so the second ends that much too early. Behind a slicer it
//     hardly delays.
//   - bandwidth keeps the excess of a sleep that was too long as a credit for any later chunk, however long the pause
//     before it.
//   - When another toxic comes, what waits in a stage passes at once, in one piece.
//
// Here a chunk's Timestamp is the time when it is due, from which the next stage counts. A chunk never passes earlier.
// If it passes later, as on a busy machine, the chunks after it are due as before.

// The names of our delaying toxics in toxiproxy's table. They have a prefix for the reason given at dropName.
const (
	latencyName   = "doublegrant-latency"
	bandwidthName = "doublegrant-bandwidth"
	sliceName     = "doublegrant-slice"
	slowCloseName = "doublegrant-slow-close"
)

// held is what a delaying toxic holds back in one direction of a connection. It is kept while other toxics are added to
// the link or removed.
type held struct {
	pieces []*stream.StreamChunk // pieces that wait, each for the time in its Timestamp
	free   time.Time             // when the next piece, or the end of the connection, may pass at the earliest
	ends   bool                  // the field free already includes the delay of the connection's end
}

// add appends data as a piece. The piece may pass at the given time, but not before the pieces ahead of it.
func (h *held) add(data []byte, due time.Time) {
	h.free = latest(h.free, due)
	h.pieces = append(h.pieces, &stream.StreamChunk{Timestamp: h.free, Data: data})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pass sends each piece on when it is due. It returns false if toxiproxy interrupts it before all pieces are sent.
func (h *held) pass(stub *toxics.ToxicStub) bool {
	for len(h.pieces) > 0 {
		if !sleepUntil(h.pieces[0].Timestamp, stub.Interrupt) {
			return false
		}
		p := h.pieces[0]
		h.pieces = h.pieces[1:]
		stub.Output <- p
	}
	return true
}

func sleepUntil(due time.Time, interrupt <-chan struct{}) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	select {
	case <-time.After(wait):
		return true
	case <-interrupt:
		return false
	}
}

// delaying has the methods that all delaying toxics share.
type delaying struct{}

// NewState returns what toxiproxy keeps for this toxic and one direction of a connection.
func (delaying) NewState() any { return &held{} }

// Cleanup passes on at once all that is held. toxiproxy calls it when it removes the toxic.
func (delaying) Cleanup(stub *toxics.ToxicStub) {
	h, now := stub.State.(*held), time.Now()
	for _, p := range h.pieces {
		if p.Timestamp.After(now) {
			p.Timestamp = now
		}
		stub.Output <- p
	}
	h.pieces = nil
}

// delay runs a delaying toxic on one direction of a connection, until toxiproxy interrupts it or the connection ends.
// For each chunk of bytes it calls the function hold, which adds them to what is held back. The end of the connection
// passes after all bytes, and is delayed by at least endsAfter.
func (delaying) delay(stub *toxics.ToxicStub, hold func(*held, *stream.StreamChunk), endsAfter time.Duration) {
	h := stub.State.(*held)
	for h.pass(stub) {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c != nil {
				hold(h, c)
				continue
			}
			if endsAfter > 0 && !h.ends {
				h.free, h.ends = latest(h.free, time.Now().Add(endsAfter)), true
			}
			if sleepUntil(h.free, stub.Interrupt) {
				stub.Close()
			}
			return
		}
	}
}

// latency delays each chunk by Latency, plus or minus up to Jitter.
type latency struct {
	delaying
	Latency time.Duration `json:"latency"`
	Jitter  time.Duration `json:"jitter"`
}

// GetBufferSize returns how many chunks may wait in front of the toxic. With room for fewer chunks, the latency would
// also limit the bandwidth.
func (*latency) GetBufferSize() int { return 1024 }

func (t *latency) Pipe(stub *toxics.ToxicStub) {
	t.delay(stub, func(h *held, c *stream.StreamChunk) {
		delay := t.Latency
		if t.Jitter > 0 {
			delay += rand.N(2*t.Jitter) - t.Jitter
		}
		h.add(c.Data, c.Timestamp.Add(delay))
	}, 0)
}

// bandwidth lets Rate bytes a second pass. It cuts chunks into pieces that take a tenth of a second at most.
type bandwidth struct {
	delaying
	Rate int64 `json:"rate"`
}

func (t *bandwidth) Pipe(stub *toxics.ToxicStub) {
	t.delay(stub, func(h *held, c *stream.StreamChunk) {
		began, sent := latest(h.free, c.Timestamp), 0
		for piece := range slices.Chunk(c.Data, max(1, int(t.Rate/10))) {
			sent += len(piece)
			h.add(piece, began.Add(time.Duration(sent)*time.Second/time.Duration(t.Rate)))
		}
	}, 0)
}

// slicer cuts chunks into pieces of at most Size bytes, with a pause after each.
type slicer struct {
	delaying
	Size  int           `json:"size"`
	Pause time.Duration `json:"pause"`
}

func (t *slicer) Pipe(stub *toxics.ToxicStub) {
	t.delay(stub, func(h *held, c *stream.StreamChunk) {
		for piece := range slices.Chunk(c.Data, t.Size) {
			h.add(piece, c.Timestamp)
			h.free = h.free.Add(t.Pause)
		}
	}, 0)
}

// slowClose delays the end of a connection by Delay.
type slowClose struct {
	delaying
	Delay time.Duration `json:"delay"`
}

func (t *slowClose) Pipe(stub *toxics.ToxicStub) {
	t.delay(stub, func(h *held, c *stream.StreamChunk) { h.add(c.Data, c.Timestamp) }, t.Delay)
}
