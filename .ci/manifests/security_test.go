package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestEveryPodIsConfined also checks that no secret is in a manifest: the user makes tokens by hand, see the README.
func TestEveryPodIsConfined(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, object := range objects {
			_, secret := object.(*corev1.Secret)
			require.False(t, secret, file)
		}
	}
	for file, made := range pods(t) {
		require.Empty(t, weaknesses(made.Spec), file)
	}
}

// TestWhatIsNotConfinedIsSeen weakens a good pod in one place at a time.
func TestWhatIsNotConfinedIsSeen(t *testing.T) {
	type pod = corev1.PodSpec
	type container = corev1.Container
	yes, no, root := true, false, int64(0)
	plain := corev1.EnvVar{Name: "TOKEN", Value: "x"}
	hostPath := corev1.HostPathVolumeSource{}
	hostPort := []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	for says, weaken := range map[string]func(p *pod, c *container){
		"a service account's token": func(p *pod, _ *container) { p.AutomountServiceAccountToken = nil },
		"variables of services":     func(p *pod, _ *container) { p.EnableServiceLinks = nil },
		"the host's namespaces":     func(p *pod, _ *container) { p.HostPID = true },
		"may be root":               func(p *pod, _ *container) { p.SecurityContext.RunAsNonRoot = nil },
		"runs as a shared user":     func(p *pod, _ *container) { p.SecurityContext.RunAsUser = &root },
		"no seccomp profile":        func(p *pod, _ *container) { p.SecurityContext.SeccompProfile = nil },
		"a folder of the host":      func(p *pod, _ *container) { p.Volumes[0].HostPath = &hostPath },
		"containers of other kinds": func(p *pod, _ *container) { p.InitContainers = []container{{}} },
		"overrides the pod":         func(_ *pod, c *container) { c.SecurityContext.RunAsUser = &root },
		"may gain privileges":       func(_ *pod, c *container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"is privileged":             func(_ *pod, c *container) { c.SecurityContext.Privileged = &yes },
		"writes to its image":       func(_ *pod, c *container) { c.SecurityContext.ReadOnlyRootFilesystem = &no },
		"keeps capabilities":        func(_ *pod, c *container) { c.SecurityContext.Capabilities.Drop = nil },
		"adds capabilities": func(_ *pod, c *container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_RAW"}
		},
		"no limit of memory":         func(_ *pod, c *container) { delete(c.Resources.Limits, "memory") },
		"no request of cpu":          func(_ *pod, c *container) { delete(c.Resources.Requests, "cpu") },
		"an image of a registry":     func(_ *pod, c *container) { c.Image = "registry.example:5000/doublegrant:1" },
		"an image without a version": func(_ *pod, c *container) { c.Image = "nats:latest" },
		"a port of the host":         func(_ *pod, c *container) { c.Ports = hostPort },
		"a secret in plain text":     func(_ *pod, c *container) { c.Env[0] = plain },
	} {
		p := pods(t)["workers.yaml"].Spec // a new copy each time
		weaken(&p, &p.Containers[0])
		found := weaknesses(p)
		require.Len(t, found, 1, "%s: %v", says, found)
		require.Contains(t, found[0], says)
	}
}

// weaknesses lists the permissions that a pod has and does not need. A pod without any is stricter than Kubernetes'
// restricted standard.
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
	const firstFree = 10_000 // smaller ids may be users of the host
	shared := func(id *int64) bool { return id == nil || *id < firstFree }
	is(shared(s.RunAsUser) || shared(s.RunAsGroup), "runs as a shared user")
	is(s.SeccompProfile == nil || s.SeccompProfile.Type != "RuntimeDefault", "no seccomp profile")
	is(len(p.InitContainers)+len(p.EphemeralContainers) > 0, "containers of other kinds: check them here, too")
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
	is(s.RunAsNonRoot != nil || s.RunAsUser != nil || s.RunAsGroup != nil || s.SeccompProfile != nil,
		"overrides the pod's user or profile")
	is(!isFalse(s.AllowPrivilegeEscalation), "may gain privileges")
	is(isTrue(s.Privileged), "is privileged")
	is(!isTrue(s.ReadOnlyRootFilesystem), "writes to its image")
	is(!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}), "keeps capabilities")
	is(len(s.Capabilities.Add) > 0, "adds capabilities")
	for _, r := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage"} {
		_, requested := c.Resources.Requests[r]
		_, limited := c.Resources.Limits[r]
		is(!requested, "no request of %s", r)
		is(!limited && r != "cpu", "no limit of %s", r)
	}
	first, _, several := strings.Cut(c.Image, "/")
	is(several && strings.ContainsAny(first, ".:"), "an image of a registry")
	_, version, _ := strings.Cut(c.Image, ":")
	is(version == "" || version == "latest", "an image without a version")
	for _, port := range c.Ports {
		is(port.HostPort != 0, "a port of the host")
	}
	for _, e := range c.Env {
		is(strings.Contains(e.Name, "TOKEN") && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil),
			"a secret in plain text: %s", e.Name)
	}
	return all
}

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }

// TestAPolicyHoldsForEveryPod checks that no pod is open to the cluster's whole network, in either direction. Only
// workers and the coordinator reach NATS.
func TestAPolicyHoldsForEveryPod(t *testing.T) {
	nats := find[*networkingv1.NetworkPolicy](t, "nats").Spec
	require.Equal(t, 4222, nats.Ingress[0].Ports[0].Port.IntValue())
	for file, made := range pods(t) {
		works := file == "workers.yaml" || file == "coordinator.yaml"
		require.Equal(t, works, selects(t, nats.Ingress[0].From[0].PodSelector, made.Labels), file)
		held := map[networkingv1.PolicyType]bool{}
		for _, object := range manifests(t)["network.yaml"] {
			p := object.(*networkingv1.NetworkPolicy).Spec
			if selects(t, &p.PodSelector, made.Labels) {
				for _, way := range p.PolicyTypes {
					held[way] = true
				}
			}
		}
		require.Len(t, held, 2, file)
	}
}
