package workqueue_test

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/internal/contract"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	contract.Test(t, func(_ *testing.T, lease time.Duration) func(string) workqueue.Queue {
		return workqueue.NewMemory(lease).As
	})
}
