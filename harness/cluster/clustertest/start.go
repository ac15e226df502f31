// Package clustertest starts clusters for tests.
package clustertest

import (
	"context"
	"log/slog"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
)

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Start starts the cluster and returns it. It fails the test if the cluster cannot start, and stops the cluster when
// the test ends. The cluster's events and log are dropped.
func Start(t TB, c *cluster.Cluster) *cluster.Cluster {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		if err := c.Stop(); err != nil {
			t.Errorf("%v", err)
		}
	})
	events, log := func(harness.Event) {}, slog.New(slog.DiscardHandler)
	if err := c.Start(t.Context(), harness.NewClock(), events, log); err != nil {
		t.Fatalf("%v", err)
	}
	return c
}
