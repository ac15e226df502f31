package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheLineThatNamesAnErrorIsKept(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"\n\n":                          "",
		"one\ntwo\n":                    ": two",
		"ValueError: no lock\n  bye\n":  ": ValueError: no lock",
		"panic: lost\n\ngoroutine 1:\n": ": panic: lost",

		"panic: lost\n\n" + strings.Repeat("main.shouldRetryError(...)\n", 500): ": panic: lost",
		"don't panic: all is well\nend":                                         ": end",
	} {
		var l LastWords
		_, _ = fmt.Fprint(&l, text)
		assert.Equal(t, want, l.String(), "%q", text)
	}
}

func TestOnlyTheEndIsKept(t *testing.T) {
	var l LastWords
	for range 3 {
		_, _ = fmt.Fprintln(&l, "Error of long ago"+strings.Repeat(" ", mostLastWords))
		_, _ = fmt.Fprintln(&l, "the last line")
	}
	assert.Equal(t, ": the last line", l.String())
	assert.Len(t, l.kept, mostLastWords)
}
