package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
)

// asHarness is the environment variable that makes the test binary a harness of clusters on the platform that it names. Such a
// process can be killed, to see what it leaves behind.
const asHarness = "DOUBLEGRANT_TEST_AS_HARNESS"

func TestMain(m *testing.M) {
	if docker.Watchdog() {
		return
	}
	var on cluster.Options
	if os.Getenv(asHarness) == cluster.OnDocker {
		on.On = docker.Platform{}
	}
	switch {
	case os.Getenv(asHarness) == "":
		os.Exit(m.Run())
	case os.Getenv(asStepwise) != "":
		os.Exit(stepwise(on))
	case os.Getenv(asIdle) != "":
		os.Exit(idle(on))
	default:
		os.Exit(busy(on))
	}
}

// busy starts clusters, kills and restarts their primaries and stops them, until it is killed itself.
func busy(o cluster.Options) int {
	for {
		c := cluster.Sentinel(o)
		if err := errors.Join(begin(c), c.Kill("r1"), c.Restart(context.Background(), "r1"), c.Stop()); err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

// asIdle makes the harness start one cluster of six nodes, print the result, and do nothing until its standard input ends.
const asIdle = "DOUBLEGRANT_TEST_IDLE"

func idle(o cluster.Options) int {
	c := cluster.Sentinel(o)
	fmt.Println("start", begin(c))
	_, _ = io.Copy(io.Discard, os.Stdin)
	if c.Stop() != nil {
		return 1
	}
	return 0
}

func begin(c *cluster.Cluster) error {
	return c.Start(context.Background(), harness.NewClock(), func(harness.Event) {}, slog.New(slog.DiscardHandler))
}

// asStepwise makes the harness start one cluster, wait for a line on its standard input, act on its node, stop it, and print the
// results.
const asStepwise = "DOUBLEGRANT_TEST_STEPWISE"

func stepwise(o cluster.Options) int {
	o.On = docker.Platform{Patience: 2 * time.Second}
	c := cluster.Standalone(o)
	fmt.Println("start", begin(c))
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, act := range []struct {
		name string
		do   func() error
	}{
		{"pause", func() error { return c.Pause(ctx, "r1") }},
		{"resume", func() error { return c.Resume("r1") }},
		{"terminate", func() error { return c.Terminate(ctx, "r1") }},
		{"kill", func() error { return c.Kill("r1") }},
		{"stop", c.Stop},
	} {
		began := time.Now()
		err := act.do()
		fmt.Printf("%s %v %q\n", act.name, time.Since(began).Round(time.Millisecond), fmt.Sprint(err))
	}
	return 0
}
