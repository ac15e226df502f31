package manifests

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// program is the name of doublegrant's image in all manifests.
const program = "doublegrant/harness:local"

// TestNamesOfOneManifestAreThereInAnother checks that the volumes, secrets, claims and service that pods name exist.
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
			if v.ConfigMap != nil && v.ConfigMap.Name != "suite" { // the user makes the suite
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
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				secret := e.ValueFrom.SecretKeyRef
				require.Equal(t, "nats-token/token", secret.Name+"/"+secret.Key, file)
			}
		}
	}
}

// TestWhatDoublegrantWritesHasAPlace checks that temporary files and results have volumes, since the image is
// read-only.
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
				require.False(t, v.EmptyDir.SizeLimit.IsZero(), "%s: %s", file, v.Name)
			}
		}
	}
}

// TestShardsAreAsManyAsTheirPods compares the number of shards with that of pods. Kubernetes tells a pod only its
// index.
func TestShardsAreAsManyAsTheirPods(t *testing.T) {
	shards := find[*batchv1.Job](t, "shards").Spec
	require.Equal(t, batchv1.IndexedCompletion, *shards.CompletionMode)
	require.Equal(t, *shards.Completions, *shards.Parallelism)
	args := shards.Template.Spec.Containers[0].Args
	require.Equal(t, fmt.Sprintf("auto/%d", *shards.Completions), args[slices.Index(args, "--shard")+1])
	require.Zero(t, *shards.BackoffLimitPerIndex, "a shard that found something is tried once")
	require.Zero(t, *find[*batchv1.Job](t, "merge").Spec.BackoffLimit)
}

// TestACoordinatorThatFoundSomethingIsNotTriedAgain checks that only a coordinator that failed, or whose node was
// drained, is restarted. A drained one exits with the code of a verdict, so its rule comes first: Kubernetes takes the
// first rule that fits. Such rules need pods that do not restart in place.
func TestACoordinatorThatFoundSomethingIsNotTriedAgain(t *testing.T) {
	coordinator := find[*batchv1.Job](t, "coordinator").Spec
	require.Equal(t, corev1.RestartPolicyNever, coordinator.Template.Spec.RestartPolicy)
	drained, found := coordinator.PodFailurePolicy.Rules[0], coordinator.PodFailurePolicy.Rules[1]
	require.Equal(t, batchv1.PodFailurePolicyActionIgnore, drained.Action)
	require.Equal(t, []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget", Status: "True"}},
		drained.OnPodConditions)
	require.Equal(t, batchv1.PodFailurePolicyActionFailJob, found.Action)
	require.Equal(t, []int32{1, 2, 64}, found.OnExitCodes.Values, "invalid, unknown, wrong usage")
	require.Equal(t, coordinator.Template.Spec.Containers[0].Name, *found.OnExitCodes.ContainerName)
}

// TestCoordinatorAndWorkersMeet checks that they use the same address and name, and the token of NATS.
func TestCoordinatorAndWorkersMeet(t *testing.T) {
	nats := find[*corev1.Service](t, "nats").Spec
	require.Equal(t, "None", nats.ClusterIP)
	url := fmt.Sprintf("nats://nats:%d", nats.Ports[0].Port)
	for file, flag := range map[string]string{"coordinator.yaml": "--nats", "workers.yaml": "--join"} {
		c := pods(t)[file].Spec.Containers[0]
		require.Equal(t, url, c.Args[slices.Index(c.Args, flag)+1], file)
		require.Equal(t, "mine", c.Args[slices.Index(c.Args, "--name")+1], file)
		require.Equal(t, "DOUBLEGRANT_NATS_TOKEN", c.Env[0].Name, file)
	}
	require.Contains(t, pods(t)["workers.yaml"].Spec.Containers[0].Args, "--stay",
		"a Deployment starts a worker again that has ended")
}

// TestVolumesFitOnTheDisk checks that the volumes of a pod together may hold less than the pod's limit.
func TestVolumesFitOnTheDisk(t *testing.T) {
	for file, made := range pods(t) {
		limits, all := made.Spec.Containers[0].Resources.Limits, int64(0)
		for _, v := range made.Spec.Volumes {
			if v.EmptyDir != nil {
				all += v.EmptyDir.SizeLimit.Value()
			}
		}
		require.Greater(t, limits.StorageEphemeral().Value(), all, file)
	}
}

// TestSelectorsSelectTheirPods checks that each selector selects its own pods and no others.
func TestSelectorsSelectTheirPods(t *testing.T) {
	workers, servers := find[*appsv1.Deployment](t, "worker").Spec, find[*appsv1.StatefulSet](t, "nats").Spec
	require.True(t, selects(t, workers.Selector, workers.Template.Labels))
	require.True(t, selects(t, servers.Selector, servers.Template.Labels))
	for file, made := range pods(t) {
		require.Equal(t, file == "workers.yaml", selects(t, workers.Selector, made.Labels), file)
		require.Equal(t, file == "nats.yaml", selects(t, servers.Selector, made.Labels), file)
	}
	require.Equal(t, servers.Template.Labels, find[*corev1.Service](t, "nats").Spec.Selector)
}
