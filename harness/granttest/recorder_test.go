package granttest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// outcome holds the output of a test that ran with a recorder in place of a *testing.T.
type outcome struct {
	name           string
	ctx            context.Context
	mu             sync.Mutex
	logs, failures []string
	skipped        bool
}

var _ granttest.TB = (*outcome)(nil)

func (o *outcome) Helper()                  {}
func (o *outcome) Name() string             { return o.name }
func (o *outcome) Context() context.Context { return o.ctx }

func (o *outcome) Logf(format string, args ...any)   { o.add(&o.logs, format, args) }
func (o *outcome) Errorf(format string, args ...any) { o.add(&o.failures, format, args) }

func (o *outcome) Fatalf(format string, args ...any) {
	o.Errorf(format, args...)
	runtime.Goexit()
}

func (o *outcome) Skipf(format string, args ...any) {
	o.skipped = true
	o.Logf(format, args...)
	runtime.Goexit()
}

func (o *outcome) add(to *[]string, format string, args []any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*to = append(*to, fmt.Sprintf(format, args...))
}

// failure returns the one failure that the test has.
func (o *outcome) failure(t *testing.T) string {
	t.Helper()
	require.Len(t, o.failures, 1, "%q", o.failures)
	return o.failures[0]
}

func (o *outcome) passes(t *testing.T) {
	t.Helper()
	require.Empty(t, o.failures)
}

// record runs f as a test called name would, in the present working directory.
func record(t *testing.T, name string, f func(granttest.TB)) *outcome {
	t.Helper()
	o := &outcome{name: name, ctx: t.Context()}
	var running sync.WaitGroup
	running.Go(func() { f(o) })
	running.Wait()
	t.Logf("%s", strings.Join(append(o.logs, o.failures...), "\n"))
	return o
}
