// Package kubernetes has no code: its tests read the manifests of this folder as Kubernetes would.
package kubernetes_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// object is a document of a manifest, as one of Kubernetes' own types.
type object interface {
	runtime.Object
	metav1.Object
}

// decode reads all documents of a manifest. A field or kind that Kubernetes does not know is an error, and so is a key that is there
// twice.
func decode(text []byte) (all []object, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		it, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, it.(object))
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
func template(it object) *corev1.PodTemplateSpec {
	switch it := it.(type) {
	case *batchv1.Job:
		return &it.Spec.Template
	case *appsv1.Deployment:
		return &it.Spec.Template
	case *appsv1.StatefulSet:
		return &it.Spec.Template
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: it.ObjectMeta, Spec: it.Spec}
	}
	return nil
}

// pods lists the templates of all pods, by file.
func pods(t *testing.T) map[string]*corev1.PodTemplateSpec {
	t.Helper()
	all := map[string]*corev1.PodTemplateSpec{}
	for file, objects := range manifests(t) {
		for _, it := range objects {
			if made := template(it); made != nil {
				require.NotContains(t, all, file, "keep pods of two kinds in two files")
				all[file] = made
			}
		}
	}
	require.Len(t, all, 6)
	return all
}

// find returns the object of a type and a name.
func find[T object](t *testing.T, name string) T {
	t.Helper()
	for _, objects := range manifests(t) {
		for _, it := range objects {
			if found, ok := it.(T); ok && found.GetName() == name {
				return found
			}
		}
	}
	var none T
	require.Fail(t, "not found", "%T %s", none, name)
	return none
}

// TestWhatKubernetesDoesNotKnowIsRefused changes one word of a manifest at a time.
func TestWhatKubernetesDoesNotKnowIsRefused(t *testing.T) {
	for _, c := range []struct{ file, old, new, says string }{
		{"workers.yaml", "readOnlyRootFilesystem", "readOnlyRootFileSystem", "unknown field"},
		{"workers.yaml", "drop:", "drops:", "unknown field"},
		{"workers.yaml", "runAsNonRoot: true", "runAsNonRoot: true\n        runAsNonRoot: false", "already set"},
		{"workers.yaml", "replicas: 3", "replicas: three", "cannot unmarshal"},
		{"shards.yaml", "backoffLimitPerIndex", "backOffLimitPerIndex", "unknown field"},
		{"shards.yaml", "kind: Job", "kind: Jobs", "no kind"},
		{"nats.yaml", "volumeClaimTemplates", "volumeClaims", "unknown field"},
		{"nats.yaml", "maxUnavailable", "maxUnavailables", "unknown field"},
		{"network.yaml", "podSelector", "podselector", "unknown field"},
	} {
		text, err := os.ReadFile(c.file)
		require.NoError(t, err)
		require.Contains(t, string(text), c.old)
		_, err = decode([]byte(strings.Replace(string(text), c.old, c.new, 1)))
		require.ErrorContains(t, err, c.says, "%s: %s", c.file, c.new)
	}
}
