package granttest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each type has no more methods than its name says; none is called.
type (
	plainLock   struct{ Locker }
	extendLock  struct{ Extender }
	fenceLock   struct{ Fencer }
	extendFence struct {
		Extender
		fencer
	}
	fencer interface{ Fence() string }

	plainFilter    struct{ Deduper }
	confirmFilter  struct{ Confirmer }
	inspectFilter  struct{ Inspector }
	confirmInspect struct {
		Confirmer
		inspecter
	}
	inspecter interface {
		Inspect(ctx context.Context, id string) (marked bool, left time.Duration, err error)
	}
)

func TestAGuardHidesNothingThatAnAlgorithmCanDo(t *testing.T) {
	for _, l := range []Locker{plainLock{}, extendLock{}, fenceLock{}, extendFence{}} {
		g := superviseLock(nil, l)
		_, extends := l.(Extender)
		_, fences := l.(Fencer)
		_, guardExtends := g.(Extender)
		_, guardFences := g.(Fencer)
		require.Equal(t, [2]bool{extends, fences}, [2]bool{guardExtends, guardFences}, "%T", l)
	}
	for _, f := range []Deduper{plainFilter{}, confirmFilter{}, inspectFilter{}, confirmInspect{}} {
		g := superviseFilter(nil, f)
		_, confirms := f.(Confirmer)
		_, inspects := f.(Inspector)
		_, guardConfirms := g.(Confirmer)
		_, guardInspects := g.(Inspector)
		require.Equal(t, [2]bool{confirms, inspects}, [2]bool{guardConfirms, guardInspects}, "%T", f)
	}
}
