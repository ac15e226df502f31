// Package resp reads and writes the parts of RESP, Redis's protocol, that the explorer needs, and connects to a node.
package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// This file reads the protocol: https://redis.io/docs/latest/develop/reference/protocol-spec/

// ErrProtocol marks bytes that are not RESP.
var ErrProtocol = errors.New("explore: what was sent is not RESP")

// maxReply bounds a reply in a counterexample, in bytes.
const maxReply = 200

// Line returns the first line of b without its end, and its size with the end; size 0: the line is incomplete. For an
// empty line it returns one zero byte, so that callers can look at the first byte. No header begins with that byte.
func Line(b []byte) ([]byte, int) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return nil, 0
	}
	if i < 2 {
		return []byte{0}, i + 1
	}
	return b[:i-1], i + 1
}

// ArrayLength reads the number in a header such as "*3"; -1: the array is null.
func ArrayLength(header []byte) (int, error) {
	n := 0
	digits := header[1:]
	if len(digits) == 2 && digits[0] == '-' && digits[1] == '1' {
		return -1, nil
	}
	for _, c := range digits {
		if c < '0' || c > '9' || n > 1<<30 {
			return 0, ErrProtocol
		}
		n = 10*n + int(c-'0')
	}
	return n, nil
}

// Bulk returns the bulk string at the start of b, and its whole size; size 0: it is incomplete.
func Bulk(b []byte) (s []byte, size int, err error) {
	header, at := Line(b)
	if at == 0 {
		return nil, 0, nil
	}
	if header[0] != '$' {
		return nil, 0, ErrProtocol
	}
	n, err := ArrayLength(header)
	if err != nil || n < 0 {
		return nil, 0, ErrProtocol
	}
	if len(b) < at+n+2 {
		return nil, 0, nil
	}
	return b[at : at+n], at + n + 2, nil
}

// ParseCommand reads one command at the start of b: an array of bulk strings, as clients send them. Size 0: the command
// is incomplete.
func ParseCommand(b []byte) (args [][]byte, size int, err error) {
	header, at := Line(b)
	if at == 0 {
		return nil, 0, nil
	}
	if header[0] != '*' {
		return nil, 0, ErrProtocol
	}
	n, err := ArrayLength(header)
	if err != nil || n < 1 {
		return nil, 0, errors.Join(err, ErrProtocol)
	}
	args = make([][]byte, 0, min(n, 8))
	for range n {
		s, m, err := Bulk(b[at:])
		if err != nil || m == 0 {
			return nil, 0, err
		}
		args, at = append(args, s), at+m
	}
	return args, at, nil
}

// ParseAll returns the whole commands in b.
func ParseAll(b []byte) (all [][][]byte) {
	for len(b) > 0 {
		args, size, err := ParseCommand(b)
		if err != nil || size == 0 {
			break
		}
		all, b = append(all, args), b[size:]
	}
	return all
}

// Words returns a command's arguments as strings.
func Words(args [][]byte) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

// ReplySize returns the size of the reply at the start of b; 0: the reply is incomplete.
func ReplySize(b []byte) (int, error) {
	header, at := Line(b)
	if at == 0 {
		return 0, nil
	}
	switch header[0] {
	case '+', '-', ':', ',', '_', '#', '(':
		return at, nil
	case '$', '=', '!':
		n, err := ArrayLength(header)
		switch {
		case err != nil:
			return 0, err
		case n < 0:
			return at, nil
		case len(b) < at+n+2:
			return 0, nil
		}
		return at + n + 2, nil
	case '*', '~', '>', '%':
		n, err := ArrayLength(header)
		if err != nil {
			return 0, err
		}
		if header[0] == '%' {
			n *= 2
		}
		for range n {
			m, err := ReplySize(b[at:])
			if err != nil || m == 0 {
				return 0, err
			}
			at += m
		}
		return at, nil
	}
	return 0, ErrProtocol
}

// ReplyText writes the reply at the start of b roughly as redis-cli does, on one line of about maxReply bytes.
func ReplyText(b []byte) string {
	text, _ := ReadReply(b)
	return Clip(text, maxReply)
}

// ReadReply writes the whole reply at the start of b, and returns what follows it.
func ReadReply(b []byte) (text string, rest []byte) {
	header, at := Line(b)
	if at == 0 {
		return "", nil
	}
	body := string(header[1:])
	switch header[0] {
	case '-':
		return "(error) " + Printable(body), b[at:]
	case '$', '=', '!':
		n, _ := ArrayLength(header)
		if n < 0 {
			return "(nil)", b[at:]
		}
		return Printable(string(b[at : at+n])), b[at+n+2:]
	case '_':
		return "(nil)", b[at:]
	case '*', '~', '>', '%':
		return readArray(header, b[at:])
	}
	return Printable(body), b[at:]
}

func readArray(header, rest []byte) (string, []byte) {
	n, _ := ArrayLength(header)
	if n < 0 {
		return "(nil)", rest
	}
	if header[0] == '%' {
		n *= 2
	}
	parts := make([]string, n)
	for i := range parts {
		parts[i], rest = ReadReply(rest)
	}
	return "[" + strings.Join(parts, ", ") + "]", rest
}

// Request encodes a command.
func Request(args ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.Bytes()
}

// Integer reads an integer reply.
func Integer(reply []byte) (int64, error) {
	header, at := Line(reply)
	if at == 0 || header[0] != ':' {
		return 0, fmt.Errorf("explore: Redis answered %q, not an integer", ReplyText(reply))
	}
	return strconv.ParseInt(string(header[1:]), 10, 64)
}

// Printable replaces control characters in s, so that it fits on one line.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

// Clip leaves out the middle of s if it is longer than n bytes.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n*2/3], "") + "…" + strings.ToValidUTF8(s[len(s)-n/3:], "")
}

// Split returns the whole replies in b, one after the other.
func Split(b []byte) (all [][]byte) {
	for {
		size, err := ReplySize(b)
		if size == 0 || err != nil {
			return all
		}
		all, b = append(all, b[:size:size]), b[size:]
	}
}

// Elements returns the elements of an array.
func Elements(reply []byte) [][]byte {
	_, at := Line(reply)
	return Split(reply[at:])
}

// Text reads a bulk string.
func Text(reply []byte) (string, error) {
	s, _, err := Bulk(reply)
	return string(s), err
}
