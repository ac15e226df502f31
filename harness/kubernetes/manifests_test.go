// Package kubernetes has no code: its tests read the manifests of this folder as Kubernetes would.
package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// Kubernetes' own types take 24 s of processor time to compile. So these tests know the fields that the manifests use, and only
// schema_test.go, with the build tag kubernetes, has Kubernetes' own types read them.

// object is a document of a manifest.
type object struct {
	APIVersion, Kind string
	Metadata         meta
	Data             map[string]string
	Spec             json.RawMessage
}

type meta struct {
	Name   string
	Labels map[string]string
}

// pod is what makes a pod.
type pod struct {
	Metadata meta
	Spec     podSpec
}

// What the tests look at, by Kubernetes' names.
type (
	podSpec struct {
		RestartPolicy                                    string
		AutomountServiceAccountToken, EnableServiceLinks *bool
		HostNetwork, HostPID, HostIPC                    bool
		SecurityContext                                  *podSecurity
		InitContainers, EphemeralContainers, Containers  []container
		Volumes                                          []volume
	}
	podSecurity struct {
		RunAsNonRoot          *bool
		RunAsUser, RunAsGroup *int64
		SeccompProfile        *struct{ Type string }
	}
	volume struct {
		Name                  string
		HostPath              *struct{ Path string }
		EmptyDir              *struct{ SizeLimit quantity }
		ConfigMap             *struct{ Name string }
		PersistentVolumeClaim *struct{ ClaimName string }
	}
	container struct {
		Name, Image     string
		Command, Args   []string
		Env             []variable
		Ports           []struct{ ContainerPort, HostPort int }
		Resources       struct{ Limits, Requests map[string]quantity }
		SecurityContext *security
		VolumeMounts    []struct {
			Name, MountPath string
			ReadOnly        bool
		}
	}
	variable struct {
		Name, Value string
		ValueFrom   *struct{ SecretKeyRef *struct{ Name, Key string } }
	}
	security struct {
		RunAsNonRoot, AllowPrivilegeEscalation, Privileged, ReadOnlyRootFilesystem *bool
		RunAsUser, RunAsGroup                                                      *int64
		SeccompProfile                                                             *struct{ Type string }
		Capabilities                                                               *struct{ Drop, Add []string }
	}
)

// quantity is an amount such as 3Gi, in bytes, or 500m.
type quantity float64

func (q *quantity) UnmarshalJSON(text []byte) error {
	number, unit := strings.Trim(string(text), `"`), 1.0
	for suffix, of := range map[string]float64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "m": 0.001} {
		if cut, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = cut, of
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	*q = quantity(n * unit)
	return err
}

// fields has the fields of what a field holds, and "*" where the keys are anybody's.
var fields = map[string]string{
	"": "apiVersion kind metadata data spec", "metadata": "name labels", "data": "*", "labels": "*", "matchLabels": "*", "limits": "*", "requests": "*",
	"ConfigMap": "", "PersistentVolumeClaim": "accessModes resources", "volumeClaimTemplates": "metadata spec", "resources": "limits requests",
	"Service":     "clusterIP ports publishNotReadyAddresses selector",
	"Job":         "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions parallelism podFailurePolicy template",
	"Deployment":  "replicas selector template",
	"StatefulSet": "podManagementPolicy replicas selector serviceName template volumeClaimTemplates",
	"Pod": "activeDeadlineSeconds automountServiceAccountToken containers enableServiceLinks restartPolicy securityContext " +
		"terminationGracePeriodSeconds topologySpreadConstraints volumes",
	"NetworkPolicy": "egress ingress podSelector policyTypes", "PodDisruptionBudget": "maxUnavailable selector",
	"template": "metadata spec", "selector": "matchLabels app", "podSelector": "matchLabels matchExpressions", "namespaceSelector": "matchLabels",
	"labelSelector": "matchLabels", "matchExpressions": "key operator values", "egress": "ports to", "ingress": "ports from",
	"to": "namespaceSelector podSelector", "from": "podSelector",
	"podFailurePolicy": "rules", "rules": "action onExitCodes onPodConditions", "onExitCodes": "containerName operator values",
	"onPodConditions": "status type", "topologySpreadConstraints": "labelSelector maxSkew topologyKey whenUnsatisfiable",
	"containers": "args command env image livenessProbe name ports readinessProbe resources securityContext startupProbe volumeMounts",
	"env":        "name valueFrom", "valueFrom": "fieldRef secretKeyRef", "fieldRef": "fieldPath", "secretKeyRef": "key name",
	"livenessProbe": "httpGet periodSeconds timeoutSeconds", "readinessProbe": "httpGet periodSeconds timeoutSeconds",
	"startupProbe": "httpGet periodSeconds failureThreshold", "httpGet": "path port", "ports": "containerPort name port protocol",
	"securityContext": "fsGroup runAsGroup runAsNonRoot runAsUser seccompProfile allowPrivilegeEscalation capabilities readOnlyRootFilesystem",
	"seccompProfile":  "type", "capabilities": "drop", "volumeMounts": "mountPath name readOnly",
	"volumes": "configMap emptyDir name persistentVolumeClaim", "configMap": "name", "emptyDir": "sizeLimit", "persistentVolumeClaim": "claimName readOnly",
}

// known returns an error for a field that is none of what holds it. A spec is of its kind, or of a pod.
func known(of, kind string, value any) error {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			if err := known(of, kind, v); err != nil {
				return err
			}
		}
	case map[string]any:
		for field, v := range value {
			if fields[of] != "*" && !slices.Contains(strings.Fields(fields[of]), field) {
				return fmt.Errorf("unknown field %q of %q: add it here if Kubernetes has it", field, of)
			}
			of, kind := field, kind
			switch field {
			case "template":
				kind = "Pod"
			case "volumeClaimTemplates":
				kind = "PersistentVolumeClaim"
			case "spec":
				of = kind
			}
			if err := known(of, kind, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// decode reads all documents of a manifest. A field or kind that is not known is an error, and so is a key that is there twice.
func decode(text []byte) (all []object, err error) {
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document map[string]any
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		kind := fmt.Sprint(document["kind"])
		if _, ok := fields[kind]; !ok {
			return nil, fmt.Errorf("no kind %q", kind)
		}
		if err := known("", kind, document); err != nil {
			return nil, err
		}
		var it object
		whole, err := json.Marshal(document)
		if err == nil {
			err = json.Unmarshal(whole, &it)
		}
		if err == nil {
			_, err = template(it)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
}

// manifests reads all manifests, by the names of their files.
func manifests(t *testing.T) map[string][]object {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	all := map[string][]object{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[file], err = decode(text)
		require.NoError(t, err, file)
		require.NotEmpty(t, all[file], file)
	}
	require.Len(t, all, 8, "a new manifest, or one that is gone: see the README, too")
	return all
}

// template returns the pods that an object makes, nil if it makes none.
func template(it object) (*pod, error) {
	switch it.Kind {
	case "Job", "Deployment", "StatefulSet":
		var maker struct {
			Template *pod
			Replicas int
		}
		err := json.Unmarshal(it.Spec, &maker)
		return maker.Template, err
	case "Pod":
		made := &pod{Metadata: it.Metadata}
		return made, json.Unmarshal(it.Spec, &made.Spec)
	}
	return nil, nil
}

// pods lists the templates of all pods, by file.
func pods(t *testing.T) map[string]*pod {
	t.Helper()
	all := map[string]*pod{}
	for file, objects := range manifests(t) {
		for _, it := range objects {
			made, err := template(it)
			require.NoError(t, err, file)
			if made != nil {
				require.NotContains(t, all, file, "keep pods of two kinds in two files")
				all[file] = made
			}
		}
	}
	require.Len(t, all, 6)
	return all
}

// find returns the object of a kind and a name, and reads its spec into one.
func find(t *testing.T, kind, name string, spec any) object {
	t.Helper()
	for _, objects := range manifests(t) {
		for _, it := range objects {
			if it.Kind == kind && it.Metadata.Name == name {
				if spec != nil {
					require.NoError(t, json.Unmarshal(it.Spec, spec))
				}
				return it
			}
		}
	}
	require.FailNow(t, "not found", "%s %s", kind, name)
	return object{}
}

// selector selects pods by their labels.
type selector struct {
	MatchLabels      map[string]string
	MatchExpressions []struct {
		Key, Operator string
		Values        []string
	}
}

func (s selector) selects(t *testing.T, labels map[string]string) bool {
	t.Helper()
	for key, want := range s.MatchLabels {
		if labels[key] != want {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		require.Equal(t, "In", e.Operator, "teach this test the others")
		if !slices.Contains(e.Values, labels[e.Key]) {
			return false
		}
	}
	return true
}

// mistakes are words of a manifest, each with a wrong one and what is said of it, here and by Kubernetes' own types.
var mistakes = []struct{ file, old, new, says, kubernetes string }{
	{"workers.yaml", "readOnlyRootFilesystem", "readOnlyRootFileSystem", "unknown field", "unknown field"},
	{"workers.yaml", "drop:", "drops:", "unknown field", "unknown field"},
	{"workers.yaml", "runAsNonRoot: true", "runAsNonRoot: true\n        runAsNonRoot: false", "already defined", "already set"},
	{"workers.yaml", "replicas: 3", "replicas: three", "cannot unmarshal", "cannot unmarshal"},
	{"shards.yaml", "backoffLimitPerIndex", "backOffLimitPerIndex", "unknown field", "unknown field"},
	{"shards.yaml", "kind: Job", "kind: Jobs", "no kind", "no kind"},
	{"nats.yaml", "volumeClaimTemplates", "volumeClaims", "unknown field", "unknown field"},
	{"nats.yaml", "maxUnavailable", "maxUnavailables", "unknown field", "unknown field"},
	{"network.yaml", "podSelector", "podselector", "unknown field", "unknown field"},
}

// TestWhatKubernetesDoesNotKnowIsRefused changes one word of a manifest at a time.
func TestWhatKubernetesDoesNotKnowIsRefused(t *testing.T) {
	for _, c := range mistakes {
		text, err := os.ReadFile(c.file)
		require.NoError(t, err)
		require.Contains(t, string(text), c.old)
		_, err = decode([]byte(strings.Replace(string(text), c.old, c.new, 1)))
		require.ErrorContains(t, err, c.says, "%s: %s", c.file, c.new)
	}
}
