package checkers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/doublegrant/doublegrant/harness"
)

// tailDigits is the number of decimal digits that always fit into 64 bits.
const tailDigits = 19

// numbers is a set of numbers of one key that share all but their last 19 digits. It keeps those digits in Roaring bitmaps: two
// bits a number where numbers lie close together, 20 bytes and more where each lies alone, 160 where it is alone among four
// billion.
type numbers struct {
	bits    map[uint32]*roaring.Bitmap // by the upper half
	largest uint64                     // ever drawn
}

func (s *numbers) add(tail uint64) {
	if s.bits == nil {
		s.bits = map[uint32]*roaring.Bitmap{}
	}
	upper := uint32(tail >> 32)
	if s.bits[upper] == nil {
		s.bits[upper] = roaring.New()
	}
	s.bits[upper].Add(uint32(tail))
}

// raiseLargest notes a tail that is larger than every one before, and reports whether it is. Such a tail is not in the set.
func (s *numbers) raiseLargest(tail uint64) bool {
	if tail <= s.largest {
		return false
	}
	s.largest = tail
	return true
}

func (s *numbers) has(tail uint64) bool {
	lower := s.bits[uint32(tail>>32)]
	return lower != nil && lower.Contains(uint32(tail))
}

// number is a non-negative decimal number of any length without leading zeros.
type number string

// parseNumber reads a non-negative decimal number and drops leading zeros.
func parseNumber(s string) (number, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return "", false
		}
	}
	if s == "" {
		return "", false
	}
	for len(s) > 1 && s[0] == '0' {
		s = s[1:]
	}
	return number(s), true
}

// splitTail returns the digits of n before its last 19, and the value of those 19.
func (n number) splitTail() (head string, tail uint64) {
	cut := max(0, len(n)-tailDigits)
	for i := cut; i < len(n); i++ {
		tail = 10*tail + uint64(n[i]-'0')
	}
	return string(n[:cut]), tail
}

// compare orders numbers by their value: the longer is the larger, and those of one length compare by their digits.
func (n number) compare(m number) int {
	if c := cmp.Compare(len(n), len(m)); c != 0 {
		return c
	}
	return strings.Compare(string(n), string(m))
}

// oddities counts results that are not numbers.
type oddities struct {
	n     int
	first string // what the first of them said
}

func (o *oddities) add(x harness.Op) {
	if o.n++; o.n == 1 {
		o.first = fmt.Sprintf("%s was given %q at %s", clientName(x.Client), x.Result, formatTime(x.Return))
	}
}

// doubt returns the doubt that such results raise; empty without any.
func (o oddities) doubt() string {
	if o.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d results are not decimal numbers, the first: %s", o.n, o.first)
}
