package granttest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Types with only those optional methods that their names say. No method is called.
type (
	plainLock   struct{ Locker }
	extendLock  struct{ Extender }
	fenceLock   struct{ Fencer }
	extendFence interface {
		Extender
		Fencer
	}

	plainFilter    struct{ Deduper }
	confirmFilter  struct{ Confirmer }
	inspectFilter  struct{ Inspector }
	confirmInspect interface {
		Confirmer
		Inspector
	}
)

// can lists the optional methods of an algorithm.
func can(algorithm any) (all [4]bool) {
	_, all[0] = algorithm.(Extender)
	_, all[1] = algorithm.(Fencer)
	_, all[2] = algorithm.(Confirmer)
	_, all[3] = algorithm.(Inspector)
	return all
}

func TestAGuardHidesNothingThatAnAlgorithmCanDo(t *testing.T) {
	for _, l := range []Locker{plainLock{}, extendLock{}, fenceLock{}, struct{ extendFence }{}} {
		require.Equal(t, can(l), can(superviseLock(nil, l)), "%T", l)
	}
	for _, f := range []Deduper{plainFilter{}, confirmFilter{}, inspectFilter{}, struct{ confirmInspect }{}} {
		require.Equal(t, can(f), can(superviseFilter(nil, f)), "%T", f)
	}
}
