package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/results"
)

// placeFlags hold the flags that almost every command has: where results go, and which Redis runs.
type placeFlags struct {
	results, redis string
}

func (p *placeFlags) add(cmd *cobra.Command) {
	p.addResults(cmd, "folder in which results folders are made")
	p.addRedis(cmd)
}

func (p *placeFlags) addResults(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&p.results, "results", "results", help)
}

func (p *placeFlags) addRedis(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.redis, "redis-server", "",
		"redis-server binary (default: $DOUBLEGRANT_REDIS_SERVER, then the PATH)")
}

// options returns the options that all runs and searches of this invocation share.
func (a *app) options() results.Options {
	return results.Options{Results: a.place.results, Redis: a.place.redis, External: a.external, Warn: a.warn,
		OnSearch:   a.searchProgress(),
		Generators: a.generators(nil),
		Docker:     func(image string) cluster.Platform { return docker.Platform{Image: image} }}
}

// warn prints a warning, unless the same warning was printed before: all runs of a suite may cause it.
func (a *app) warn(text string) {
	if _, printed := a.warned.LoadOrStore(text, true); !printed {
		fmt.Fprintln(a.err, "doublegrant: warning: "+text)
	}
}
