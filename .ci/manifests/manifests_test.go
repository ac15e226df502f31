// Package manifests has only tests. They read the manifests of harness/kubernetes with Kubernetes' own types.
package manifests

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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
)

// folder is the folder of the manifests.
const folder = "../../harness/kubernetes"

// decode reads all documents of a manifest. An unknown field is an error, and so is one that is given twice.
func decode(text []byte) (all []runtime.Object, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for documents := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}

// manifests reads all manifests. Keys are file names.
func manifests(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	all := map[string][]runtime.Object{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name := filepath.Base(file)
		all[name], err = decode(text)
		require.NoError(t, err, file)
		require.NotEmpty(t, all[name], file)
	}
	require.Len(t, all, 8, "a manifest was added or removed: change the README, too")
	return all
}

// template returns the template of the pods that an object makes, or nil if it makes none.
func template(object runtime.Object) *corev1.PodTemplateSpec {
	switch made := object.(type) {
	case *batchv1.Job:
		return &made.Spec.Template
	case *appsv1.Deployment:
		return &made.Spec.Template
	case *appsv1.StatefulSet:
		return &made.Spec.Template
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: made.ObjectMeta, Spec: made.Spec}
	}
	return nil
}

// pods returns the templates of all pods, by file.
func pods(t *testing.T) map[string]*corev1.PodTemplateSpec {
	t.Helper()
	all := map[string]*corev1.PodTemplateSpec{}
	for file, objects := range manifests(t) {
		for _, object := range objects {
			if made := template(object); made != nil {
				require.NotContains(t, all, file, "keep pods of two kinds in two files")
				all[file] = made
			}
		}
	}
	require.Len(t, all, 6)
	return all
}

// find returns the object with that type and name.
func find[T metav1.Object](t *testing.T, name string) (object T) {
	t.Helper()
	for _, objects := range manifests(t) {
		for _, o := range objects {
			if object, is := o.(T); is && object.GetName() == name {
				return object
			}
		}
	}
	require.FailNow(t, "not found", "%T %s", object, name)
	return object
}

// selects reports whether a selector selects pods with these labels.
func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	return s.Matches(labels.Set(of))
}

// TestAMistypedManifestIsRefused misspells one word of a manifest at a time.
func TestAMistypedManifestIsRefused(t *testing.T) {
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
		text, err := os.ReadFile(filepath.Join(folder, c.file))
		require.NoError(t, err)
		require.Contains(t, string(text), c.old)
		_, err = decode([]byte(strings.Replace(string(text), c.old, c.new, 1)))
		require.ErrorContains(t, err, c.says, "%s: %s", c.file, c.new)
	}
}
