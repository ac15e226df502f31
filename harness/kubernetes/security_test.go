package kubernetes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryPodIsConfined, and no secret is in a manifest: tokens are made by hand, see the README.
func TestEveryPodIsConfined(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, it := range objects {
			require.NotEqual(t, "Secret", it.Kind, file)
		}
	}
	for file, made := range pods(t) {
		require.Empty(t, weaknesses(made.Spec), file)
	}
}

// TestWhatIsNotConfinedIsSeen weakens a good pod in one place at a time.
func TestWhatIsNotConfinedIsSeen(t *testing.T) {
	yes, no, root := true, false, int64(0)
	for says, weaken := range map[string]func(p *podSpec, c *container){
		"a service account's token":  func(p *podSpec, _ *container) { p.AutomountServiceAccountToken = nil },
		"variables of services":      func(p *podSpec, _ *container) { p.EnableServiceLinks = nil },
		"the host's namespaces":      func(p *podSpec, _ *container) { p.HostPID = true },
		"may be root":                func(p *podSpec, _ *container) { p.SecurityContext.RunAsNonRoot = nil },
		"no user of its own":         func(p *podSpec, _ *container) { p.SecurityContext.RunAsUser = &root },
		"no seccomp profile":         func(p *podSpec, _ *container) { p.SecurityContext.SeccompProfile = nil },
		"a folder of the host":       func(p *podSpec, _ *container) { p.Volumes[0].HostPath = &struct{ Path string }{} },
		"containers of other kinds":  func(p *podSpec, _ *container) { p.InitContainers = []container{{}} },
		"overrides the pod":          func(_ *podSpec, c *container) { c.SecurityContext.RunAsUser = &root },
		"may gain privileges":        func(_ *podSpec, c *container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"is privileged":              func(_ *podSpec, c *container) { c.SecurityContext.Privileged = &yes },
		"writes to its image":        func(_ *podSpec, c *container) { c.SecurityContext.ReadOnlyRootFilesystem = &no },
		"keeps capabilities":         func(_ *podSpec, c *container) { c.SecurityContext.Capabilities.Drop = nil },
		"adds capabilities":          func(_ *podSpec, c *container) { c.SecurityContext.Capabilities.Add = []string{"NET_RAW"} },
		"no limit of memory":         func(_ *podSpec, c *container) { delete(c.Resources.Limits, "memory") },
		"no request of cpu":          func(_ *podSpec, c *container) { delete(c.Resources.Requests, "cpu") },
		"an image of a registry":     func(_ *podSpec, c *container) { c.Image = "registry.example:5000/doublegrant:1" },
		"an image without a version": func(_ *podSpec, c *container) { c.Image = "nats:latest" },
		"a port of the host":         func(_ *podSpec, c *container) { c.Ports = []struct{ ContainerPort, HostPort int }{{80, 80}} },
		"a secret in plain text":     func(_ *podSpec, c *container) { c.Env[0] = variable{Name: "TOKEN", Value: "x"} },
	} {
		p := pods(t)["workers.yaml"].Spec // read again each time
		weaken(&p, &p.Containers[0])
		found := weaknesses(p)
		require.Len(t, found, 1, "%s: %v", says, found)
		require.Contains(t, found[0], says)
	}
}

// weaknesses lists what a pod may do and need not. A list that is empty goes beyond Kubernetes' restricted standard.
func weaknesses(p podSpec) (all []string) {
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
	is(s.SeccompProfile == nil || s.SeccompProfile.Type != "RuntimeDefault", "no seccomp profile")
	is(len(p.InitContainers)+len(p.EphemeralContainers) > 0, "containers of other kinds: look at them here, too")
	for _, v := range p.Volumes {
		is(v.HostPath != nil, "a folder of the host: %s", v.Name)
	}
	for _, c := range p.Containers {
		all = append(all, containerWeaknesses(c)...)
	}
	return all
}

func containerWeaknesses(c container) (all []string) {
	is := func(wrong bool, what string, args ...any) {
		if wrong {
			all = append(all, c.Name+": "+fmt.Sprintf(what, args...))
		}
	}
	s := c.SecurityContext
	if s == nil || s.Capabilities == nil {
		return []string{c.Name + ": no security context with capabilities"}
	}
	is(s.podSecurity != podSecurity{}, "overrides the pod's user or profile")
	is(!isFalse(s.AllowPrivilegeEscalation), "may gain privileges")
	is(isTrue(s.Privileged), "is privileged")
	is(!isTrue(s.ReadOnlyRootFilesystem), "writes to its image")
	is(!slices.Equal(s.Capabilities.Drop, []string{"ALL"}), "keeps capabilities")
	is(len(s.Capabilities.Add) > 0, "adds capabilities")
	for _, r := range []string{"cpu", "memory", "ephemeral-storage"} {
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
		is(strings.Contains(e.Name, "TOKEN") && (e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil), "a secret in plain text: %s", e.Name)
	}
	return all
}

func isTrue(b *bool) bool  { return b != nil && *b }
func isFalse(b *bool) bool { return b != nil && !*b }

// policy is the spec of a NetworkPolicy.
type policy struct {
	PodSelector selector
	PolicyTypes []string
	Ingress     []struct {
		Ports []struct{ Port int }
		From  []struct{ PodSelector selector }
	}
}

// TestAPolicyHoldsForEveryPod: none is open to the cluster's whole network, in neither direction, and only who works reaches NATS.
func TestAPolicyHoldsForEveryPod(t *testing.T) {
	nats := specOf[policy](t, "NetworkPolicy", "nats")
	require.Equal(t, 4222, nats.Ingress[0].Ports[0].Port)
	for file, made := range pods(t) {
		works := file == "workers.yaml" || file == "coordinator.yaml"
		require.Equal(t, works, nats.Ingress[0].From[0].PodSelector.selects(t, made.Metadata.Labels), file)
		held := map[string]bool{}
		for _, it := range manifests(t)["network.yaml"] {
			p := specOf[policy](t, "NetworkPolicy", it.Metadata.Name)
			if p.PodSelector.selects(t, made.Metadata.Labels) {
				for _, way := range p.PolicyTypes {
					held[way] = true
				}
			}
		}
		require.Len(t, held, 2, file)
	}
}
