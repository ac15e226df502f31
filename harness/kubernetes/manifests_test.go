// Package kubernetes has no code: its tests read the manifests of this folder as Kubernetes would.
package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
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

// Kubernetes' own types take 24 s of processor time to compile. So these tests know the fields that they look at, and only
// schema_test.go, with the build tag kubernetes, has Kubernetes' own types read the manifests.

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
		podSecurity
		AllowPrivilegeEscalation, Privileged, ReadOnlyRootFilesystem *bool
		Capabilities                                                 *struct{ Drop, Add []string }
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

// decode reads all documents of a manifest. A key that is there twice is an error.
func decode(t *testing.T, text []byte) (all []object) {
	t.Helper()
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document map[string]any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		whole, err := json.Marshal(document)
		require.NoError(t, err)
		var it object
		require.NoError(t, json.Unmarshal(whole, &it))
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
		all[file] = decode(t, text)
		require.NotEmpty(t, all[file], file)
	}
	require.Len(t, all, 8, "a new manifest, or one that is gone: see the README, too")
	return all
}

// template returns the pods that an object makes, nil if it makes none.
func template(t *testing.T, it object) *pod {
	t.Helper()
	switch it.Kind {
	case "Job", "Deployment", "StatefulSet":
		var maker struct{ Template *pod }
		require.NoError(t, json.Unmarshal(it.Spec, &maker))
		return maker.Template
	case "Pod":
		made := &pod{Metadata: it.Metadata}
		require.NoError(t, json.Unmarshal(it.Spec, &made.Spec))
		return made
	}
	return nil
}

// pods lists the templates of all pods, by file.
func pods(t *testing.T) map[string]*pod {
	t.Helper()
	all := map[string]*pod{}
	for file, objects := range manifests(t) {
		for _, it := range objects {
			if made := template(t, it); made != nil {
				require.NotContains(t, all, file, "keep pods of two kinds in two files")
				all[file] = made
			}
		}
	}
	require.Len(t, all, 6)
	return all
}

// find returns the object of a kind and a name.
func find(t *testing.T, kind, name string) object {
	t.Helper()
	for _, objects := range manifests(t) {
		for _, it := range objects {
			if it.Kind == kind && it.Metadata.Name == name {
				return it
			}
		}
	}
	require.FailNow(t, "not found", "%s %s", kind, name)
	return object{}
}

// specOf returns the spec of such an object.
func specOf[T any](t *testing.T, kind, name string) (spec T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(find(t, kind, name).Spec, &spec))
	return spec
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
