package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLoadOfTheMachineIsReadable(t *testing.T) {
	require.Regexp(t, `^\d+\.\d on \d+ cores$`, loadOfMachine())
}
