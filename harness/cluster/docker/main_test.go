package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/cluster/internal/platformtest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// onDocker runs, in containers, the tests that every platform has to pass.
var onDocker = platformtest.Platform{
	Options: cluster.Options{Platform: docker.Platform{}}, Sites: docker.LocalDaemon,
	Dogs:  1,               // the watchdog of the containers
	Usual: 4 * time.Second, // containers start and end more slowly than processes
}

// Helpers of tests, by short names.
var (
	up           = onDocker.Up
	startQuietly = platformtest.StartQuietly
	connect      = platformtest.Connect
	whole        = platformtest.Whole
	eventually   = platformtest.Eventually
	sees         = platformtest.Sees
)

// need skips the test if there is no Docker.
func need(t *testing.T) {
	t.Helper()
	docker.Need(testenv.Noting(t, "tests of containers", "install Docker Engine, and start it"))
}

// options returns options for containers. It skips the test if there is no Docker.
func options(t *testing.T) cluster.Options {
	t.Helper()
	need(t)
	return onDocker.Options
}

func TestMain(m *testing.M) {
	if docker.Watchdog() {
		return
	}
	onDocker.Main(m, map[string]func() int{stepwise: actStepwise})
}

// stepwise is the task of a harness in a process of its own. It starts one cluster, waits for a line on its standard
// input, acts on its node, stops the cluster, and prints the results. Once the cluster is up, it has short timeouts for
// its daemon.
const stepwise = "stepwise"

// remembering is the Docker platform. It keeps the last site that Find has returned, so that a test can change its
// timeouts.
type remembering struct {
	docker.Platform
	site cluster.Site
}

func (r *remembering) Find(ctx context.Context, log *slog.Logger) (site cluster.Site, err error) {
	r.site, err = r.Platform.Find(ctx, log)
	return r.site, err
}

func actStepwise() int {
	on := &remembering{}
	c := cluster.Standalone(cluster.Options{Platform: on})
	err := platformtest.Begin(c)
	if err == nil {
		docker.Limit(on.site, docker.Platform{Patience: 2 * time.Second})
	}
	fmt.Println("start", err)
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
