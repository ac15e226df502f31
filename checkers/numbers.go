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

// numbers is a set of numbers of one key that share all but their last 19 digits. It keeps those digits in Roaring
// bitmaps. A number costs two bits where numbers are dense, 20 bytes and more where they are sparse, and 160 bytes if
// it is alone among four billion.
type numbers struct {
	bits    map[uint32]*roaring.Bitmap // lower 32 bits of the last 19 digits' value, by the upper 32 bits
	largest uint64                     // value of the last 19 digits of the largest number drawn
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

// raiseLargest reports whether tail is larger than all numbers drawn before, and if so records it as the largest. A
// larger number cannot be in the set, so the caller need not look there.
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

// splitTail returns the digits of n before its last 19, and the value of the last 19.
func (n number) splitTail() (head string, tail uint64) {
	cut := max(0, len(n)-tailDigits)
	for i := cut; i < len(n); i++ {
		tail = 10*tail + uint64(n[i]-'0')
	}
	return string(n[:cut]), tail
}

// compare compares numbers by value: the longer one is larger, and numbers of one length compare by their digits.
func (n number) compare(m number) int {
	if c := cmp.Compare(len(n), len(m)); c != 0 {
		return c
	}
	return strings.Compare(string(n), string(m))
}

// nonNumbers counts results that are not numbers.
type nonNumbers struct {
	count int
	first string // the first result that is not a number
}

func (o *nonNumbers) add(x harness.Op) {
	if o.count++; o.count == 1 {
		o.first = fmt.Sprintf("%s was given %q at %s", clientName(x.Client), x.Result, formatTime(x.Return))
	}
}

// doubt returns a reason for Unknown that says how many results were no numbers. It returns "" if there were none.
func (o nonNumbers) doubt() string {
	return doubtIf(o.count > 0, "%d results are not decimal numbers, the first: %s", o.count, o.first)
}
