package interleave

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed returns an unpacker of numbers.
func packed(numbers ...uint64) *unpacker {
	u := &unpacker{}
	for _, n := range numbers {
		u.rest = binary.AppendUvarint(u.rest, n)
	}
	return u
}

// Numbers that are too large, or end too early, are refused.
func TestWhatCannotBeUnpackedIsRefused(t *testing.T) {
	long := bytes.Repeat([]byte{0xff}, 11)
	for name, f := range map[string]func() (any, *unpacker){
		"no number":         func() (any, *unpacker) { u := &unpacker{}; return u.number(), u },
		"a long number":     func() (any, *unpacker) { u := &unpacker{rest: long}; return u.number(), u },
		"no signed number":  func() (any, *unpacker) { u := &unpacker{}; return u.signed(), u },
		"a long signed one": func() (any, *unpacker) { u := &unpacker{rest: long}; return u.signed(), u },
		"a fingerprint":     func() (any, *unpacker) { u := packed(math.MaxUint32 + 6); return u.fingerprint(), u },
		"a long text": func() (any, *unpacker) {
			u := &unpacker{rest: make([]byte, mostText+1)}
			return u.letters(mostText + 1), u
		},
		"a bell": func() (any, *unpacker) { u := &unpacker{rest: []byte("\a")}; return u.letters(1), u },
	} {
		got, u := f()
		require.Zero(t, got, name)
		require.NotEmpty(t, u.wrong, name)
		require.Empty(t, u.rest, name)
	}
	var b Budget
	counts := packedCounts(&b)
	for _, u := range []*unpacker{packed(1 << len(counts)), packed(1, mostCount+1)} {
		u.budget()
		require.NotEmpty(t, u.wrong)
	}
}

func TestTheLargestOfEachIsUnpacked(t *testing.T) {
	u := packed(math.MaxUint32)
	require.Equal(t, uint32(math.MaxUint32), u.fingerprint())
	text := &unpacker{rest: bytes.Repeat([]byte("a"), mostText)}
	require.Len(t, text.letters(mostText), mostText)
	counts := packed(1, mostCount)
	b := counts.budget()
	require.Equal(t, mostCount, *packedCounts(&b)[0])
	for _, u := range []*unpacker{u, text, counts} {
		require.Empty(t, u.wrong)
	}
}
