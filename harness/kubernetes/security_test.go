package kubernetes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestEveryPodIsConfined(t *testing.T) {
	for file, made := range pods(t) {
		require.Empty(t, weaknesses(made.Spec), file)
	}
}

// TestWhatIsNotConfinedIsSeen weakens a good pod in one place at a time.
func TestWhatIsNotConfinedIsSeen(t *testing.T) {
	yes, no, root := true, false, int64(0)
	for says, weaken := range map[string]func(p *corev1.PodSpec, c *corev1.Container){
		"a service account's token": func(p *corev1.PodSpec, _ *corev1.Container) { p.AutomountServiceAccountToken = nil },
		"variables of services":     func(p *corev1.PodSpec, _ *corev1.Container) { p.EnableServiceLinks = nil },
		"the host's namespaces":     func(p *corev1.PodSpec, _ *corev1.Container) { p.HostPID = true },
		"may be root":               func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsNonRoot = nil },
		"no user of its own":        func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsUser = &root },
		"no seccomp profile":        func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.SeccompProfile = nil },
		"a folder of the host":      func(p *corev1.PodSpec, _ *corev1.Container) { p.Volumes[0].HostPath = &corev1.HostPathVolumeSource{} },
		"containers of other kinds": func(p *corev1.PodSpec, _ *corev1.Container) { p.InitContainers = []corev1.Container{{}} },
		"overrides the pod":         func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsUser = &root },
		"may gain privileges":       func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"is privileged":             func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Privileged = &yes },
		"writes to its image":       func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = &no },
		"keeps capabilities":        func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities.Drop = nil },
		"adds capabilities": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		},
		"no limit of memory":         func(_ *corev1.PodSpec, c *corev1.Container) { delete(c.Resources.Limits, corev1.ResourceMemory) },
		"no request of cpu":          func(_ *corev1.PodSpec, c *corev1.Container) { delete(c.Resources.Requests, corev1.ResourceCPU) },
		"an image of a registry":     func(_ *corev1.PodSpec, c *corev1.Container) { c.Image = "registry.example:5000/doublegrant:1" },
		"an image without a version": func(_ *corev1.PodSpec, c *corev1.Container) { c.Image = "nats:latest" },
		"a port of the host":         func(_ *corev1.PodSpec, c *corev1.Container) { c.Ports = []corev1.ContainerPort{{HostPort: 80}} },
		"a secret in plain text":     func(_ *corev1.PodSpec, c *corev1.Container) { c.Env[0] = corev1.EnvVar{Name: "TOKEN", Value: "x"} },
	} {
		p := *pods(t)["workers.yaml"].Spec.DeepCopy()
		weaken(&p, &p.Containers[0])
		found := weaknesses(p)
		require.Len(t, found, 1, "%s: %v", says, found)
		require.Contains(t, found[0], says)
	}
}

// weaknesses lists what a pod may do and need not. A list that is empty goes beyond Kubernetes' restricted standard.
func weaknesses(p corev1.PodSpec) (all []string) {
	is := func(wrong bool, what string, args ...any) {
		if wrong {
			all = append(all, fmt.Sprintf(what, args...))
		}
	}
	s := p.SecurityContext
	if s == nil {
		return []string{"no security context"}
	}
	is(!isFalse(p.AutomountServiceAccountToken), "a service account's token is mounted")
	is(!isFalse(p.EnableServiceLinks), "variables of services are set")
	is(p.HostNetwork || p.HostPID || p.HostIPC, "the host's namespaces")
	is(!isTrue(s.RunAsNonRoot), "may be root")
	is(s.RunAsUser == nil || *s.RunAsUser < 10_000 || s.RunAsGroup == nil || *s.RunAsGroup < 10_000, "no user of its own")
	is(s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	is(len(p.InitContainers)+len(p.EphemeralContainers) > 0, "containers of other kinds: look at them here, too")
	for _, v := range p.Volumes {
		is(v.HostPath != nil, "a folder of the host: %s", v.Name)
	}
	for _, c := range p.Containers {
		all = append(all, containerWeaknesses(c)...)
	}
	return all
}

func containerWeaknesses(c corev1.Container) (all []string) {
	is := func(wrong bool, what string, args ...any) {
		if wrong {
			all = append(all, c.Name+": "+fmt.Sprintf(what, args...))
		}
	}
	s := c.SecurityContext
	if s == nil || s.Capabilities == nil {
		return []string{c.Name + ": no security context with capabilities"}
	}
	is(s.RunAsUser != nil || s.RunAsGroup != nil || s.RunAsNonRoot != nil || s.SeccompProfile != nil, "overrides the pod's user or profile")
	is(!isFalse(s.AllowPrivilegeEscalation), "may gain privileges")
	is(isTrue(s.Privileged), "is privileged")
	is(!isTrue(s.ReadOnlyRootFilesystem), "writes to its image")
	is(!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}), "keeps capabilities")
	is(len(s.Capabilities.Add) > 0, "adds capabilities")
	for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		_, requested := c.Resources.Requests[r]
		_, limited := c.Resources.Limits[r]
		is(!requested, "no request of %s", r)
		is(!limited && r != corev1.ResourceCPU, "no limit of %s", r)
	}
	first, _, several := strings.Cut(c.Image, "/")
	is(several && strings.ContainsAny(first, ".:"), "an image of a registry")
	_, version, _ := strings.Cut(c.Image, ":")
	is(version == "" || version == "latest", "an image without a version")
	for _, port := range c.Ports {
		is(port.HostPort != 0, "a port of the host")
	}
	for _, e := range c.Env {
		is(strings.Contains(e.Name, "TOKEN") && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil), "a secret in plain text: %s", e.Name)
	}
	return all
}

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }

// TestNoSecretIsInAManifest: tokens are made by hand, see the README.
func TestNoSecretIsInAManifest(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, it := range objects {
			require.IsNotType(t, &corev1.Secret{}, it, file)
		}
	}
}

// TestAPolicyHoldsForEveryPod: none is open to the cluster's whole network, in neither direction.
func TestAPolicyHoldsForEveryPod(t *testing.T) {
	for file, made := range pods(t) {
		held := map[networkingv1.PolicyType]bool{}
		for _, it := range manifests(t)["network.yaml"] {
			policy := it.(*networkingv1.NetworkPolicy)
			if selects(t, policy.Spec.PodSelector, made.Labels) {
				for _, way := range policy.Spec.PolicyTypes {
					held[way] = true
				}
			}
		}
		require.Len(t, held, 2, file)
	}
}

// TestOnlyWhoWorksReachesNATS walks the rule of its policy.
func TestOnlyWhoWorksReachesNATS(t *testing.T) {
	rule := find[*networkingv1.NetworkPolicy](t, "nats").Spec.Ingress[0]
	require.Equal(t, 4222, rule.Ports[0].Port.IntValue())
	for file, made := range pods(t) {
		want := file == "workers.yaml" || file == "coordinator.yaml"
		require.Equal(t, want, selects(t, *rule.From[0].PodSelector, made.Labels), file)
	}
}

func selects(t *testing.T, s metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&s)
	require.NoError(t, err)
	return selector.Matches(labels.Set(of))
}
