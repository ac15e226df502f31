package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCommandThatGoesOnHasWhatChoseTheRuns(t *testing.T) {
	f := suiteFlags{only: "a b", shard: "3/8"}
	require.Equal(t, "doublegrant suite x.yaml '--only=a b' --shard=3/8 --resume=results/y", resumeCommand([]string{"x.yaml"}, f, "results/y"))
}
