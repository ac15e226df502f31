package history

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// notUnicode says what to do about bytes that are not text.
const notUnicode = "write keys, tokens and results as Unicode, and what is not text in hexadecimal digits"

// unicodeOnly returns an error unless b, a line of JSON, is UTF-8 and all its escapes are whole characters. encoding/json
// reads anything else as U+FFFD, so that two different keys would become one.
func unicodeOnly(b []byte) error {
	if at := invalidUTF8(b); at >= 0 {
		return fmt.Errorf("byte %d, 0x%02x, is not UTF-8: %s", at+1, b[at], notUnicode)
	}
	for i := bytes.IndexByte(b, '\\'); 0 <= i && i < len(b); {
		unit := hexUnit(b[i:])
		switch {
		case unit < 0: // another escape, of two bytes
			i += 2
		case utf16.DecodeRune(unit, max(0, hexUnit(b[min(i+6, len(b)):]))) != utf8.RuneError:
			i += 12
		case utf16.IsSurrogate(unit):
			return fmt.Errorf("byte %d, %s, is half of a pair that makes one character: %s", i+1, b[i:i+6], notUnicode)
		default:
			i += 6
		}
		next := bytes.IndexByte(b[min(i, len(b)):], '\\')
		if next < 0 {
			break
		}
		i += next
	}
	return nil
}

// invalidUTF8 returns the index of the first byte of b that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// hexUnit returns the number of the escape \uXXXX that b begins with, or -1 if it begins with none.
func hexUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n := rune(0)
	for _, x := range b[2:6] {
		switch {
		case '0' <= x && x <= '9':
			n = n<<4 + rune(x-'0')
		case 'a' <= x|0x20 && x|0x20 <= 'f':
			n = n<<4 + rune(x|0x20-'a') + 10
		default:
			return -1
		}
	}
	return n
}
