package kubernetes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

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
				find[*corev1.PersistentVolumeClaim](t, v.PersistentVolumeClaim.ClaimName)
			}
			if v.ConfigMap != nil && v.ConfigMap.Name != "suite" { // the suite is yours
				find[*corev1.ConfigMap](t, v.ConfigMap.Name)
			}
		}
		if file == "nats.yaml" {
			volumes = append(volumes, find[*appsv1.StatefulSet](t, "nats").Spec.VolumeClaimTemplates[0].Name)
		}
		for _, m := range c.VolumeMounts {
			mounts = append(mounts, m.Name)
		}
		require.ElementsMatch(t, volumes, mounts, file)
		for _, e := range c.Env {
			if e.ValueFrom.SecretKeyRef != nil {
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
				require.NotNil(t, v.EmptyDir.SizeLimit, "%s: %s", file, v.Name)
			}
		}
	}
}

// TestShardsAreAsManyAsTheirPods: Kubernetes tells a pod its index, and not of how many.
func TestShardsAreAsManyAsTheirPods(t *testing.T) {
	job := find[*batchv1.Job](t, "shards").Spec
	require.Equal(t, batchv1.IndexedCompletion, *job.CompletionMode)
	require.Equal(t, *job.Completions, *job.Parallelism)
	args := job.Template.Spec.Containers[0].Args
	require.Equal(t, fmt.Sprintf("auto/%d", *job.Completions), args[slices.Index(args, "--shard")+1])
	require.Zero(t, *job.BackoffLimitPerIndex, "a shard that found something is not tried until it finds nothing")
	require.Zero(t, *find[*batchv1.Job](t, "merge").Spec.BackoffLimit)
}

// TestACoordinatorThatFoundSomethingIsNotTriedAgain: one that failed is, and one whose node was drained, which exits as if it had found
// nothing out. The first rule that fits counts. Rules need pods that do not restart in place.
func TestACoordinatorThatFoundSomethingIsNotTriedAgain(t *testing.T) {
	job := find[*batchv1.Job](t, "coordinator").Spec
	require.Equal(t, corev1.RestartPolicyNever, job.Template.Spec.RestartPolicy)
	drained := job.PodFailurePolicy.Rules[0]
	require.Equal(t, batchv1.PodFailurePolicyActionIgnore, drained.Action)
	require.Equal(t, []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}, drained.OnPodConditions)
	rule := job.PodFailurePolicy.Rules[1]
	require.Equal(t, batchv1.PodFailurePolicyActionFailJob, rule.Action)
	require.Equal(t, []int32{1, 2, 64}, rule.OnExitCodes.Values, "invalid, unknown, wrong usage")
	require.Equal(t, job.Template.Spec.Containers[0].Name, *rule.OnExitCodes.ContainerName)
}

// TestCoordinatorAndWorkersMeet by one address and one name, and with the same token as NATS has.
func TestCoordinatorAndWorkersMeet(t *testing.T) {
	service := find[*corev1.Service](t, "nats")
	require.Equal(t, corev1.ClusterIPNone, service.Spec.ClusterIP)
	url := fmt.Sprintf("nats://%s:%d", service.Name, service.Spec.Ports[0].Port)
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
		"coordinator.yaml": {2*workqueue.MostBytes + gib, 2 * coordinate.MostUnpacked},     // the last result waits for the collector
	} {
		p := pods(t)[file].Spec
		limits := p.Containers[0].Resources.Limits
		require.GreaterOrEqual(t, limits.Memory().Value(), needs.memory, file)
		var all int64
		for _, v := range p.Volumes {
			if v.EmptyDir == nil {
				continue
			}
			all += v.EmptyDir.SizeLimit.Value()
			if v.Name == "tmp" {
				require.GreaterOrEqual(t, v.EmptyDir.SizeLimit.Value(), needs.tmp, file)
			}
		}
		require.Greater(t, limits.StorageEphemeral().Value(), all, file)
	}
}

// TestSelectorsSelectTheirPods: of what makes pods, and of what looks for them.
func TestSelectorsSelectTheirPods(t *testing.T) {
	workers, servers := find[*appsv1.Deployment](t, "worker").Spec, find[*appsv1.StatefulSet](t, "nats").Spec
	require.True(t, selects(t, *workers.Selector, workers.Template.Labels))
	require.True(t, selects(t, *servers.Selector, servers.Template.Labels))
	for file, made := range pods(t) {
		require.Equal(t, file == "workers.yaml", selects(t, *workers.Selector, made.Labels), file)
		require.Equal(t, file == "nats.yaml", selects(t, *servers.Selector, made.Labels), file)
	}
	require.Equal(t, servers.Template.Labels, find[*corev1.Service](t, "nats").Spec.Selector)
}
