//go:build kubernetes

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/doublegrant/doublegrant/harness/testenv"
)

// read has Kubernetes' own types read a manifest. What they do not know is an error.
func read(text []byte) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for documents := k8syaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			_, _, err = decoder.Decode(document, nil, nil)
		}
		if err != nil {
			return err
		}
	}
}

// TestLongKubernetesKnowsWhatTheManifestsSay needs the build tag kubernetes.
func TestLongKubernetesKnowsWhatTheManifestsSay(t *testing.T) {
	testenv.NeedLong(t)
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, read(text), file)
	}
	for _, c := range []struct{ file, old, new, says string }{ // one word of a manifest at a time
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
		require.ErrorContains(t, read([]byte(strings.Replace(string(text), c.old, c.new, 1))), c.says, "%s: %s", c.file, c.new)
	}
}
