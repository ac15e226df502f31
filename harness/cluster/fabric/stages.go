package fabric

import (
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// This file has two toxics of our own, in place of toxiproxy's timeout and limit_data. Those end a pipeline in the
// middle and read no more, so that the stages before them wait for ever.

// The names of our own toxics. toxiproxy has one table of toxics for the process. Other packages may add theirs, so our
// names have a prefix.
const (
	dropName      = "doublegrant-drop"
	limitDataName = "doublegrant-limit-data"
)

// drop loses all bytes until it is removed.
type drop struct{}

func (*drop) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
		}
	}
}

// limitData passes on the first Bytes bytes of a connection. Then it ends the connection and loses the rest.
type limitData struct {
	Bytes int `json:"bytes"`
}

// NewState returns the number of bytes that a new connection may pass.
func (t *limitData) NewState() any { return &limitData{t.Bytes} }

func (t *limitData) Pipe(stub *toxics.ToxicStub) {
	left := stub.State.(*limitData)
	for left.Bytes > 0 {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
			n := min(left.Bytes, len(c.Data))
			left.Bytes -= n
			stub.Output <- &stream.StreamChunk{Timestamp: c.Timestamp, Data: c.Data[:n]}
		}
	}
	stub.Close()
	for range stub.Input { // until the source ends
	}
}
