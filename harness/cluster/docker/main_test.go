package docker_test

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

func TestMain(m *testing.M) {
	if docker.Watchdog() {
		return
	}
	m.Run()
}
