package checkers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// Whatever the checker counts as lost is listed, and nothing else.
func TestLostWritesAreThoseOfTheChecker(t *testing.T) {
	h := of(add(0, 1, 1, 2), add(1, 2, 2, 3), info(add(2, 3, 3, 4)), fail(add(0, 4, 5, 6)), add(0, 5, 6, 7),
		on("unread", add(0, 6, 7, 8)), read(9, 10, "1"), add(0, 7, 9, 11))
	lost, err := LostWrites(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, []harness.Op{add(1, 2, 2, 3), add(0, 5, 6, 7)}, lost)
	_, found := judge(t, Writes(), h)
	require.Equal(t, len(lost), countsOf(found)[harness.LostWrite])
}
