package mylock

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// TestLock runs every interleaving of three clients, and then a short load.
func TestLock(t *testing.T) { granttest.Lock(t, New) }
