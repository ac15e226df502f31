package interleave

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// This file packs the parts of a recipe into bytes. The bytes are a file format: add codes, never change one.

// packedKinds and packedWorld give choices their codes in recipes: the code is the index in the list. A new Kind
// changes no code of an older one.
var (
	packedKinds = []Kind{Runs, Crashes, LosesAnswers, LosesCommands, Delays, Passes, Arrives, PassesFine, Slows}
	packedWorld = []Choice{StopReplication, Promote, FlushScripts}
)

// Codes of other choices.
const (
	codeWorld = 14 // for choices in packedWorld: their number is the index there
	codeWords = 15 // for choices written as text: their number is the length of the text, which follows
	codes     = 16
)

// packedCounts lists the counts of a budget. Add new ones at the end.
func packedCounts(b *Budget) []*int {
	return []*int{
		&b.Clients, &b.Crashes, &b.Expiries, &b.Approaches, &b.Failovers, &b.Flushes, &b.LostAnswers,
		&b.LostCommands, &b.Place, &b.Late,
	}
}

// mostCount bounds each count of a budget that is unpacked.
const mostCount = 1 << 20

// mostText bounds each text that is unpacked, in bytes.
const mostText = 1 << 10

// packer writes the parts of a recipe.
type packer []byte

func (p *packer) number(n uint64) { *p = binary.AppendUvarint(*p, n) }

func (p *packer) signed(n int64) { *p = binary.AppendVarint(*p, n) }

func (p *packer) text(s string) {
	p.number(uint64(len(s)))
	*p = append(*p, s...)
}

// budget writes one bit for each count, which says whether the count is more than 0. Then it writes these counts.
func (p *packer) budget(b Budget) {
	bits := uint64(0)
	for i, n := range packedCounts(&b) {
		if *n != 0 {
			bits |= 1 << i
		}
	}
	p.number(bits)
	for _, n := range packedCounts(&b) {
		if *n != 0 {
			p.number(uint64(*n))
		}
	}
}

// choice writes a choice's code and number. A choice without a code is written as text.
func (p *packer) choice(c Choice) {
	if code := slices.Index(packedKinds, c.Kind()); code >= 0 && c.Thread() == 0 {
		p.number(uint64(c.Number())*codes + uint64(code))
	} else if i := slices.Index(packedWorld, c); i >= 0 {
		p.number(uint64(i)*codes + codeWorld)
	} else {
		words := c.String()
		p.number(uint64(len(words))*codes + codeWords)
		*p = append(*p, words...)
	}
}

// unpacker reads what a packer wrote. The field wrong describes the first error. After an error every result is 0 or
// empty.
type unpacker struct {
	rest  []byte
	wrong string
}

func (u *unpacker) fail(format string, args ...any) {
	if u.wrong == "" {
		u.wrong = fmt.Sprintf(format, args...)
	}
	u.rest = nil
}

func (u *unpacker) number() uint64 { return unpack(u, binary.Uvarint) }

func (u *unpacker) signed() int64 { return unpack(u, binary.Varint) }

func unpack[N uint64 | int64](u *unpacker, read func([]byte) (N, int)) N {
	n, size := read(u.rest)
	if size <= 0 {
		u.fail("it ends too early")
		return 0
	}
	u.rest = u.rest[size:]
	return n
}

func (u *unpacker) fingerprint() uint32 {
	n := u.number()
	if n > math.MaxUint32 {
		u.fail("its fingerprint has another length")
		return 0
	}
	return uint32(n)
}

func (u *unpacker) text() string { return u.letters(u.number()) }

// letters reads a text of n bytes.
func (u *unpacker) letters(n uint64) string {
	if n > mostText || n > uint64(len(u.rest)) {
		u.fail("a text in it is longer than the recipe")
		return ""
	}
	s := string(u.rest[:n])
	u.rest = u.rest[n:]
	if !utf8.ValidString(s) || slices.ContainsFunc([]rune(s), func(r rune) bool { return !unicode.IsPrint(r) }) {
		u.fail("a text in it has unprintable characters")
		return ""
	}
	return s
}

func (u *unpacker) budget() (b Budget) {
	counts := packedCounts(&b)
	bits := u.number()
	if bits >= 1<<len(counts) {
		u.fail("its budget has a fault that this version does not know")
	}
	for i, n := range counts {
		if bits&(1<<i) == 0 {
			continue
		}
		count := u.number()
		if count > mostCount {
			u.fail("its budget asks for %d of one kind", count)
		}
		*n = int(min(count, mostCount))
	}
	return b
}

func (u *unpacker) choice() (c Choice) {
	n := u.number()
	code, at := n%codes, n/codes
	switch {
	case u.wrong != "":
	case code == codeWords:
		if c.UnmarshalText([]byte(u.letters(at))) != nil {
			u.fail("this version does not know one of its steps")
		}
	case code == codeWorld && at < uint64(len(packedWorld)):
		c = packedWorld[at]
	case code < uint64(len(packedKinds)) && at < MaxPerKind:
		if c = choice(packedKinds[code], int(at)); !isValidChoice(c) {
			u.fail("this version does not know its step %v", c)
		}
	default:
		u.fail("this version does not know one of its steps")
	}
	return c
}

// isValidChoice reports whether c is a choice that a file may hold.
func isValidChoice(c Choice) bool {
	var again Choice
	return again.UnmarshalText([]byte(c.String())) == nil && again == c
}
