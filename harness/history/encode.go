package history

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// The first byte of an operation has its outcome in the lowest bits, then a bit for each field that is not zero.
const (
	outcomeBits = 3
	hasArg      = 1 << (iota + 1)
	hasResult
	hasErr
	hasTTL
	hasUntil
	hasDue
)

// encoder packs operations for one frame. Times are stored as differences. A Return is stored as the difference to the
// Return before it; Call, Until and Due are stored as differences to the Return of their own operation. Many strings
// end in a number that grows slowly. So a string is cut into its text and that number. The text is stored as a position
// in the frame's table of texts. The number is stored as the difference to the latest number after the same text.
type encoder struct {
	buf      []byte
	n        int
	previous harness.Op
	texts    map[string]int // indexes in the slice numbers; a key is a text, then the constant numbered or plain
	numbers  []int64        // the latest number after each text
	key      []byte
}

// numbered is the byte written after a text that a number follows, such as "lock-" in "lock-17".
const numbered = '#'

// plain is the byte written after a text that is the whole string.
const plain = '.'

func newEncoder() *encoder { return &encoder{texts: map[string]int{}} }

func (e *encoder) reset() {
	e.buf, e.n, e.previous, e.numbers = e.buf[:0], 0, harness.Op{}, e.numbers[:0]
	clear(e.texts)
}

func (e *encoder) add(op *harness.Op) error {
	if op.Outcome > harness.Fail {
		return fmt.Errorf("history: an operation on %q has no outcome that there is: %s", op.Key, op.Outcome)
	}
	flags := byte(op.Outcome)
	set := func(f byte, is bool) {
		if is {
			flags |= f
		}
	}
	set(hasArg, op.Arg != "")
	set(hasResult, op.Result != "")
	set(hasErr, op.Err != "")
	set(hasTTL, op.TTL != 0)
	set(hasUntil, op.Until != 0)
	set(hasDue, op.Due != 0)
	e.buf = append(e.buf, flags)
	e.int(int64(op.Client))
	e.int(int64(op.Return - e.previous.Return))
	e.int(int64(op.Return - op.Call))
	e.string(string(op.Kind))
	e.string(op.Key)
	for _, s := range [...]string{op.Arg, op.Result, op.Err} {
		if s != "" {
			e.string(s)
		}
	}
	if flags&hasTTL != 0 {
		e.int(int64(op.TTL))
	}
	if flags&hasUntil != 0 {
		e.int(int64(op.Return - op.Until))
	}
	if flags&hasDue != 0 {
		e.int(int64(op.Return - op.Due))
	}
	e.previous.Return = op.Return
	e.n++
	return nil
}

func (e *encoder) int(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

// string writes s: its text, and the number at its end if it has one. If the frame has the text already, string writes
// only the text's position, counted from 1. Otherwise it writes a 0 and the text in full.
func (e *encoder) string(s string) {
	text, number, ok := split(s)
	mark := byte(plain)
	if ok {
		mark = numbered
	}
	e.key = append(append(e.key[:0], text...), mark)
	i, known := e.texts[string(e.key)]
	if !known {
		i = len(e.numbers)
		e.texts[string(e.key)] = i
		e.numbers = append(e.numbers, 0)
		e.buf = append(e.buf, 0)
		e.buf = binary.AppendUvarint(e.buf, uint64(len(e.key)))
		e.buf = append(e.buf, e.key...)
	} else {
		e.buf = binary.AppendUvarint(e.buf, uint64(i)+1)
	}
	if ok {
		e.int(number - e.numbers[i])
		e.numbers[i] = number
	}
}

// split cuts a decimal number without leading zeros off the end of s, if there is one.
func split(s string) (text string, number int64, ok bool) {
	const digits = 18 // that always fit an int64
	i := len(s)
	for i > 0 && len(s)-i < digits && '0' <= s[i-1] && s[i-1] <= '9' {
		i--
	}
	for i < len(s)-1 && s[i] == '0' {
		i++
	}
	if i == len(s) {
		return s, 0, false
	}
	number, err := strconv.ParseInt(s[i:], 10, 64)
	return s[:i], number, err == nil
}
