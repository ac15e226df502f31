package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnotherShapeIsNotHiddenByOneThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want int }{
		{ExitMet, ExitMet, ExitMet}, {ExitMet, ExitUnknown, ExitUnknown}, {ExitUnknown, ExitInvalid, ExitInvalid},
		{ExitInvalid, ExitUnknown, ExitInvalid}, {ExitInvalid, ExitMet, ExitInvalid},
	} {
		require.Equal(t, c.want, worseShape(c.a, c.b), "%d and %d", c.a, c.b)
	}
}
