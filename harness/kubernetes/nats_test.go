package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// statefulSet is the spec of a StatefulSet.
type statefulSet struct {
	Replicas             int
	ServiceName          string
	Selector             selector
	Template             pod
	VolumeClaimTemplates []struct {
		Metadata meta
		Spec     struct {
			Resources struct{ Requests map[string]quantity }
		}
	}
}

// TestNATSTakesItsConfiguration: the server itself reads what the manifest gives it, and finds there what the manifest gives its pods.
func TestNATSTakesItsConfiguration(t *testing.T) {
	text := find(t, "ConfigMap", "nats").Data["nats.conf"]
	read := func(text string) (*server.Options, error) {
		path := filepath.Join(t.TempDir(), "nats.conf")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return server.ProcessConfigFile(path)
	}
	t.Setenv("POD_NAME", "nats-0")
	t.Setenv("TOKEN", "dg-0123")
	o, err := read(text)
	require.NoError(t, err)
	require.Equal(t, "nats-0", o.ServerName)
	require.Equal(t, "dg-0123", o.Authorization, "without a token whoever reaches it may ask")
	require.True(t, o.JetStream)

	set := specOf[statefulSet](t, "StatefulSet", "nats")
	c, disk := set.Template.Spec.Containers[0], set.VolumeClaimTemplates[0]
	require.Equal(t, []string{"--config", c.VolumeMounts[0].MountPath + "/nats.conf"}, c.Args)
	require.Equal(t, o.StoreDir, c.VolumeMounts[1].MountPath)
	require.Equal(t, disk.Metadata.Name, c.VolumeMounts[1].Name)
	require.Less(t, o.JetStreamMaxStore, int64(disk.Spec.Resources.Requests["storage"]))
	require.Less(t, o.JetStreamMaxMemory, int64(c.Resources.Requests["memory"]))
	require.Equal(t, []int{o.Port, o.Cluster.Port, o.HTTPPort},
		[]int{c.Ports[0].ContainerPort, c.Ports[1].ContainerPort, c.Ports[2].ContainerPort})

	require.Len(t, o.Routes, set.Replicas)
	for i, route := range o.Routes {
		require.Equal(t, fmt.Sprintf("%s-%d.%s:%d", "nats", i, set.ServiceName, o.Cluster.Port), route.Host)
	}

	_, err = read(strings.Replace(text, "max_file_store", "max_files_store", 1))
	require.ErrorContains(t, err, "max_files_store")
	require.NoError(t, os.Unsetenv("TOKEN"))
	_, err = read(text)
	require.ErrorContains(t, err, "TOKEN", "a pod without the secret does not start open to all")
}
