package mylock

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

func TestMyLock(t *testing.T) {
	granttest.Lock(t, newMyLock)
}
