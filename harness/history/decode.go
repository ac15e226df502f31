package history

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// decoder unpacks the frames of one pass over a history.
type decoder struct {
	raw        []byte // the part of the frame that is not decoded yet
	bad        bool   // the frame has content that no encoder writes
	lastReturn time.Duration
	texts      []text
	buf        []byte
	pool       pool
}

type text struct {
	text     []byte // the text, as a part of the frame
	number   int64
	numbered bool   // a number follows the text
	whole    string // the latest string with this text and a number
}

func newOpDecoder() *decoder { return &decoder{pool: newPool()} }

// errFrame says that a frame does not contain operations, although its checksum is right.
var errFrame = errors.New("a frame does not hold operations")

// frame begins to decode a frame. The caller must not change raw until the method more has returned false.
func (d *decoder) frame(raw []byte) { d.raw, d.lastReturn, d.texts = raw, 0, d.texts[:0] }

// more reports whether the frame has operations left.
func (d *decoder) more() bool { return len(d.raw) > 0 }

// op decodes the next operation.
func (d *decoder) op() (op harness.Op, err error) {
	flags := d.raw[0]
	d.raw = d.raw[1:]
	op.Outcome = harness.Outcome(flags & outcomeBits)
	op.Client = int(d.int())
	op.Return = d.lastReturn + time.Duration(d.int())
	op.Call = op.Return - time.Duration(d.int())
	op.Kind = harness.Kind(d.string())
	op.Key = d.string()
	if flags&hasArg != 0 {
		op.Arg = d.string()
	}
	if flags&hasResult != 0 {
		op.Result = d.string()
	}
	if flags&hasErr != 0 {
		op.Err = d.string()
	}
	if flags&hasTTL != 0 {
		op.TTL = time.Duration(d.int())
	}
	if flags&hasUntil != 0 {
		op.Until = op.Return - time.Duration(d.int())
	}
	if flags&hasDue != 0 {
		op.Due = op.Return - time.Duration(d.int())
	}
	d.lastReturn = op.Return
	if d.bad || op.Outcome > harness.Fail {
		return op, errFrame
	}
	return op, nil
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.raw)
	return int64(d.advance(uint64(n), size))
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.raw)
	return d.advance(n, size)
}

func (d *decoder) advance(n uint64, size int) uint64 {
	if size <= 0 {
		d.bad, d.raw = true, nil
		return 0
	}
	d.raw = d.raw[size:]
	return n
}

func (d *decoder) string() string {
	place := d.uint()
	if place == 0 {
		d.newText()
		place = uint64(len(d.texts))
	}
	if d.bad || place > uint64(len(d.texts)) {
		d.bad = true
		return ""
	}
	t := &d.texts[place-1]
	if !t.numbered {
		return t.whole
	}
	if diff := d.int(); diff != 0 || t.whole == "" {
		t.number += diff
		d.buf = strconv.AppendInt(append(d.buf[:0], t.text...), t.number, 10)
		t.whole = d.pool.string(d.buf)
	}
	return t.whole
}

// newText decodes a text and adds it to the frame's table of texts.
func (d *decoder) newText() {
	size := d.uint()
	if size == 0 || size > uint64(len(d.raw)) {
		d.bad = true
		return
	}
	t := text{text: d.raw[:size-1]}
	switch d.raw[size-1] {
	case numbered:
		t.numbered = true
	case plain:
		t.whole = d.pool.string(t.text)
	default:
		d.bad = true
	}
	d.texts = append(d.texts, t)
	d.raw = d.raw[size:]
}

// pool keeps recent strings, so that equal keys share one string instead of one for each operation. Its size is
// bounded: new strings replace old ones.
type pool struct {
	seed    maphash.Seed
	strings [8192]string
}

func newPool() pool { return pool{seed: maphash.MakeSeed()} }

// maxPooled is the length, in bytes, of the longest string that a pool keeps.
const maxPooled = 256

func (p *pool) string(b []byte) string {
	if len(b) > maxPooled {
		return string(b)
	}
	s := &p.strings[maphash.Bytes(p.seed, b)%uint64(len(p.strings))]
	if *s != string(b) {
		*s = string(b)
	}
	return *s
}
