package kubernetes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// program is the image that stands for doublegrant's in all manifests.
const program = "doublegrant/harness:local"

// TestNamesOfOneManifestAreThereInAnother: volumes, secrets, claims and the service that pods name.
func TestNamesOfOneManifestAreThereInAnother(t *testing.T) {
	for file, made := range pods(t) {
		p, c := made.Spec, made.Spec.Containers[0]
		require.Len(t, p.Containers, 1, file)
		var volumes, mounts []string
		for _, v := range p.Volumes {
			volumes = append(volumes, v.Name)
			if v.PersistentVolumeClaim != nil {
				find(t, "PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
			}
			if v.ConfigMap != nil && v.ConfigMap.Name != "suite" { // the suite is yours
				find(t, "ConfigMap", v.ConfigMap.Name)
			}
		}
		if file == "nats.yaml" {
			volumes = append(volumes, specOf[statefulSet](t, "StatefulSet", "nats").VolumeClaimTemplates[0].Metadata.Name)
		}
		for _, m := range c.VolumeMounts {
			mounts = append(mounts, m.Name)
		}
		require.ElementsMatch(t, volumes, mounts, file)
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				require.Equal(t, "nats-token/token", e.ValueFrom.SecretKeyRef.Name+"/"+e.ValueFrom.SecretKeyRef.Key, file)
			}
		}
	}
}

// TestWhatDoublegrantWritesHasAPlace: its image is read-only, so that temporary files and results need volumes.
func TestWhatDoublegrantWritesHasAPlace(t *testing.T) {
	for file, made := range pods(t) {
		c := made.Spec.Containers[0]
		if c.Image != program {
			continue
		}
		require.Empty(t, c.Command, "%s: the image starts doublegrant", file)
		var at []string
		for _, m := range c.VolumeMounts {
			if !m.ReadOnly {
				at = append(at, m.MountPath)
			}
		}
		require.ElementsMatch(t, []string{"/tmp", "/results"}, at, file)
		for _, v := range made.Spec.Volumes {
			if v.EmptyDir != nil {
				require.NotZero(t, v.EmptyDir.SizeLimit, "%s: %s", file, v.Name)
			}
		}
	}
}

// job is the spec of a Job.
type job struct {
	CompletionMode                                               string
	Completions, Parallelism, BackoffLimit, BackoffLimitPerIndex *int
	PodFailurePolicy                                             struct{ Rules []rule }
	Template                                                     pod
}

type rule struct {
	Action      string
	OnExitCodes struct {
		ContainerName string
		Values        []int
	}
	OnPodConditions []struct{ Type, Status string }
}

// TestShardsAreAsManyAsTheirPods: Kubernetes tells a pod its index, and not of how many.
func TestShardsAreAsManyAsTheirPods(t *testing.T) {
	shards := specOf[job](t, "Job", "shards")
	require.Equal(t, "Indexed", shards.CompletionMode)
	require.Equal(t, *shards.Completions, *shards.Parallelism)
	args := shards.Template.Spec.Containers[0].Args
	require.Equal(t, fmt.Sprintf("auto/%d", *shards.Completions), args[slices.Index(args, "--shard")+1])
	require.Zero(t, *shards.BackoffLimitPerIndex, "a shard that found something is not tried until it finds nothing")
	require.Zero(t, *specOf[job](t, "Job", "merge").BackoffLimit)
}

// TestACoordinatorThatFoundSomethingIsNotTriedAgain: one that failed is, and one whose node was drained, which exits as if it had found
// nothing out. The first rule that fits counts. Rules need pods that do not restart in place.
func TestACoordinatorThatFoundSomethingIsNotTriedAgain(t *testing.T) {
	coordinator := specOf[job](t, "Job", "coordinator")
	require.Equal(t, "Never", coordinator.Template.Spec.RestartPolicy)
	drained, found := coordinator.PodFailurePolicy.Rules[0], coordinator.PodFailurePolicy.Rules[1]
	require.Equal(t, "Ignore", drained.Action)
	require.Equal(t, []struct{ Type, Status string }{{"DisruptionTarget", "True"}}, drained.OnPodConditions)
	require.Equal(t, "FailJob", found.Action)
	require.Equal(t, []int{1, 2, 64}, found.OnExitCodes.Values, "invalid, unknown, wrong usage")
	require.Equal(t, coordinator.Template.Spec.Containers[0].Name, found.OnExitCodes.ContainerName)
}

// service is the spec of a Service.
type service struct {
	ClusterIP string
	Ports     []struct{ Port int }
	Selector  map[string]string
}

// TestCoordinatorAndWorkersMeet by one address and one name, and with the same token as NATS has.
func TestCoordinatorAndWorkersMeet(t *testing.T) {
	nats := specOf[service](t, "Service", "nats")
	require.Equal(t, "None", nats.ClusterIP)
	url := fmt.Sprintf("nats://nats:%d", nats.Ports[0].Port)
	for file, flag := range map[string]string{"coordinator.yaml": "--nats", "workers.yaml": "--join"} {
		c := pods(t)[file].Spec.Containers[0]
		require.Equal(t, url, c.Args[slices.Index(c.Args, flag)+1], file)
		require.Equal(t, "mine", c.Args[slices.Index(c.Args, "--name")+1], file)
		require.Equal(t, "DOUBLEGRANT_NATS_TOKEN", c.Env[0].Name, file)
	}
	require.Contains(t, pods(t)["workers.yaml"].Spec.Containers[0].Args, "--stay", "a Deployment starts what has ended again")
}

// TestResultsHaveRoom where they are: as many bytes as the packages that make and move them allow.
func TestResultsHaveRoom(t *testing.T) {
	const gib = 1 << 30
	for file, needs := range map[string]struct{ memory, tmp int64 }{
		"workers.yaml":     {3*workqueue.MostBytes + 2*gib, coordinate.MostUnpacked + gib}, // what is packed grows by doubling
		"coordinator.yaml": {2*workqueue.MostBytes + gib, gib},                             // the last result waits for the collector
	} {
		p := pods(t)[file].Spec
		limits := p.Containers[0].Resources.Limits
		require.GreaterOrEqual(t, int64(limits["memory"]), needs.memory, file)
		var all int64
		for _, v := range p.Volumes {
			if v.EmptyDir == nil {
				continue
			}
			all += int64(v.EmptyDir.SizeLimit)
			if v.Name == "tmp" {
				require.GreaterOrEqual(t, int64(v.EmptyDir.SizeLimit), needs.tmp, file)
			}
		}
		require.Greater(t, int64(limits["ephemeral-storage"]), all, file)
	}
}

// deployment is the spec of a Deployment.
type deployment struct {
	Selector selector
	Template pod
}

// TestSelectorsSelectTheirPods: of what makes pods, and of what looks for them.
func TestSelectorsSelectTheirPods(t *testing.T) {
	workers := specOf[deployment](t, "Deployment", "worker")
	servers := specOf[statefulSet](t, "StatefulSet", "nats")
	require.True(t, workers.Selector.selects(t, workers.Template.Metadata.Labels))
	require.True(t, servers.Selector.selects(t, servers.Template.Metadata.Labels))
	for file, made := range pods(t) {
		require.Equal(t, file == "workers.yaml", workers.Selector.selects(t, made.Metadata.Labels), file)
		require.Equal(t, file == "nats.yaml", servers.Selector.selects(t, made.Metadata.Labels), file)
	}
	require.Equal(t, servers.Template.Metadata.Labels, specOf[service](t, "Service", "nats").Selector)
}
