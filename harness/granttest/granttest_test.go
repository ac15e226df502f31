package granttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// Algorithms that keep their promise pass, search and load.
func TestRightOnesPass(t *testing.T) {
	for name, test := range map[string]func(granttest.TB){
		"SET NX PX":          lock(newGoodLock),
		"of a *redis.Client": lock(newPlainLock),
		"in a hash":          lock(newHashLock),
		"redsync":            lock(newRedsyncLock),
		"SET NX":             dedup(newGoodFilter),
		"INCR":               sequence(newGoodSequence),
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			record(t, "TestIt", test).passes(t)
			require.NoDirExists(t, "testdata")
		})
	}
}

// Algorithms that do not fail, with the class that says why.
func TestWrongOnesFail(t *testing.T) {
	for name, c := range map[string]struct {
		test  func(granttest.TB)
		class string
	}{
		"blind DEL":             {lock(newBlindDel), "stolen-release"},
		"SETNX, then EXPIRE":    {lock(newTwoSteps), "stuck-lock"},
		"GET, then SET":         {lock(newGetSet), "double-grant"},
		"a hostname for token":  {lock(newHostnameLock), "stolen-release"},
		"PEXPIRE in an Extend":  {lock(newBlindExtend), "double-grant"},
		"filter: GET, then SET": {dedup(newGetSetFilter), "duplicate-delivery"},
		"numbers: GET, SET":     {sequence(newGetSetSequence), "duplicate-number"},
		"numbers as strings":    {sequence(newStringSequence), "duplicate-number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			failure := record(t, "TestIt", c.test).failure(t)
			require.Contains(t, failure, c.class+" in ")
			require.Contains(t, failure, "go test -run '^TestIt$' github.com/doublegrant/doublegrant/harness/granttest")
		})
	}
}
