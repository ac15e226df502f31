package suite

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/results"
)

// servers describes what the nodes of the suite's runs are, by platform. For processes it is the server and its
// version. For containers it is the name of their image, since nothing else is known before a container has started.
func (s Suite) servers(ctx context.Context, o results.Options) (all map[string]string, err error) {
	all = map[string]string{}
	for _, run := range s.Runs {
		platform := string(cluster.OnProcess)
		if run.On == string(cluster.OnDocker) {
			platform = strings.TrimSpace(run.On + " " + run.Image)
		}
		if all[platform] != "" {
			continue
		}
		if all[platform], err = describeServer(ctx, run, o); err != nil {
			return nil, fmt.Errorf("%w (in the run %q)", err, fields.Shortened(run.Title))
		}
	}
	return all, nil
}

// describeServer describes the nodes of one run.
func describeServer(ctx context.Context, run Entry, o results.Options) (string, error) {
	if run.On != string(cluster.OnDocker) {
		return cluster.RedisVersion(o.Redis)
	}
	// the preflight has already refused a machine without Docker
	site, err := o.Docker(run.Image).Find(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return "", fmt.Errorf("suite: %w", err)
	}
	return "image " + site.String(), nil
}

// serverWords lists the servers sorted by platform.
func serverWords(servers map[string]string) string {
	var all []string
	for _, platform := range slices.Sorted(maps.Keys(servers)) {
		all = append(all, servers[platform])
	}
	return strings.Join(all, ", ")
}
