package mylock

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// No order of commands breaks the lock, and no load, as far as this one shows.
func TestLock(t *testing.T) { granttest.Lock(t, New) }
