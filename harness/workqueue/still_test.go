package workqueue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A failure of a machine that stood still is put down to the standstill. A result with a claim still counts.
func TestAResultOfAMachineThatStoodStill(t *testing.T) {
	t.Parallel()
	late, refused, says := errors.New("too late"), fmt.Errorf("%w: no", ErrRefused), Result{Claim: "x"}
	for _, c := range []struct {
		still time.Duration
		res   Result
		err   error
		want  string
	}{
		{0, Result{}, nil, ""},
		{time.Second, Result{}, late, "too late"},
		{5 * time.Second, says, nil, ""},
		{5 * time.Second, Result{}, nil, "this machine stood still for 5s during the unit: its result is empty"},
		{5 * time.Second, says, late, "this machine stood still for 5s during the unit: too late"},
		{5 * time.Second, Result{}, refused, "this worker refuses the unit: no"},
	} {
		err := afterStandstill(c.still, c.res, c.err)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}
