package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// natsOptions returns the options that the NATS server reads from a configuration.
func natsOptions(t *testing.T, text string) (*server.Options, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return server.ProcessConfigFile(path)
}

// TestNATSTakesItsConfiguration checks that NATS accepts the configuration, and that this names what the manifest gives
// its pods.
func TestNATSTakesItsConfiguration(t *testing.T) {
	text := find[*corev1.ConfigMap](t, "nats").Data["nats.conf"]
	t.Setenv("POD_NAME", "nats-0")
	t.Setenv("TOKEN", "dg-0123")
	o, err := natsOptions(t, text)
	require.NoError(t, err)
	require.Equal(t, "nats-0", o.ServerName)
	require.Equal(t, "dg-0123", o.Authorization, "without a token everything that reaches it may ask")
	require.True(t, o.JetStream)

	set := find[*appsv1.StatefulSet](t, "nats").Spec
	c, disk := set.Template.Spec.Containers[0], set.VolumeClaimTemplates[0]
	require.Equal(t, []string{"--config", c.VolumeMounts[0].MountPath + "/nats.conf"}, c.Args)
	require.Equal(t, o.StoreDir, c.VolumeMounts[1].MountPath)
	require.Equal(t, disk.Name, c.VolumeMounts[1].Name)
	require.Less(t, o.JetStreamMaxStore, disk.Spec.Resources.Requests.Storage().Value())
	require.Less(t, o.JetStreamMaxMemory, c.Resources.Requests.Memory().Value())
	for i, port := range []int{o.Port, o.Cluster.Port, o.HTTPPort} {
		require.EqualValues(t, port, c.Ports[i].ContainerPort)
	}

	require.Len(t, o.Routes, int(*set.Replicas))
	for i, route := range o.Routes {
		require.Equal(t, fmt.Sprintf("%s-%d.%s:%d", "nats", i, set.ServiceName, o.Cluster.Port), route.Host)
	}

	_, err = natsOptions(t, strings.Replace(text, "max_file_store", "max_files_store", 1))
	require.ErrorContains(t, err, "max_files_store")
	require.NoError(t, os.Unsetenv("TOKEN"))
	_, err = natsOptions(t, text)
	require.ErrorContains(t, err, "TOKEN", "a pod without the secret must not start open to all")
}
