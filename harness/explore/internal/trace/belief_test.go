package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// A client believes what its operation's outcome says, and only a refusal tells it of others.
func TestBeliefs(t *testing.T) {
	for want, op := range map[string]harness.Op{
		"k is somebody else's":       {Kind: harness.Acquire, Key: "k", Outcome: harness.Fail, Err: harness.Held},
		"k was not its own any more": {Kind: harness.Extend, Key: "k", Outcome: harness.Fail, Err: harness.NotMine},
		"somebody else has k": {Kind: harness.Claim, Key: "k", Outcome: harness.OK,
			Result: harness.ResultSeen},
		"has the number 7":                           {Kind: harness.Next, Key: "k", Outcome: harness.OK, Result: "7"},
		"knows that its next did not happen":         {Kind: harness.Next, Key: "k", Outcome: harness.Fail},
		"knows that its claim did not happen":        {Kind: harness.Claim, Outcome: harness.Fail, Err: "READONLY"},
		"knows that its acquire did not happen":      {Kind: harness.Acquire, Outcome: harness.Fail, Err: "failed"},
		"knows that its release did not happen":      {Kind: harness.Release, Outcome: harness.Fail, Err: "failed"},
		"knows that its deliver did not happen":      {Kind: harness.Deliver, Outcome: harness.Fail, Err: "failed"},
		"does not know whether its deliver happened": {Kind: harness.Deliver, Err: "timeout"},
	} {
		require.Equal(t, want, belief(op))
	}
}
