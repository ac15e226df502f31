package workqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/internal/contract"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	contract.Test(t, synctest.Test, func(_ *testing.T, lease time.Duration) func(string) workqueue.Queue {
		return workqueue.NewMemory(lease).As
	})
}
