package cluster_test

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
)

// onProcesses runs the tests that every platform has to pass. Package docker runs them in containers.
var onProcesses platformtest.Platform

// Helpers of tests, by short names.
var (
	up           = onProcesses.Up
	startQuietly = platformtest.StartQuietly
	connect      = platformtest.Connect
	whole        = platformtest.Whole
	eventually   = platformtest.Eventually
)

func TestMain(m *testing.M) {
	if cluster.Watchdog() { // this process was started to remove another's folder
		return
	}
	onProcesses.Main(m, nil)
}
