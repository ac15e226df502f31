package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/harness/plan"
)

// externalFlags hold the flags about an external Redis.
type externalFlags struct {
	url, urlFile  string
	ca, cert, key string // files
	confirmed     string
}

// externalNames lists these flags. --prefix is a flag of the plan.
var externalNames = []string{"redis", "redis-url-file", "redis-ca", "redis-cert", "redis-key", "i-may-load"}

func (e *externalFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.url, "redis", "",
		"of --topology external: redis://USER:PASSWORD@HOST:PORT, or "+
			"redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER-NAME;\n"+
			"rediss for TLS (default: $"+plan.ExternalURL+", which keeps the password out of the list of processes)")
	f.StringVar(&e.urlFile, "redis-url-file", "", "file with that URL, in place of --redis")
	f.StringVar(&e.ca, "redis-ca", "", "file with the CA's certificates that the external Redis has to show one of "+
		"(default: those of this machine)")
	f.StringVar(&e.cert, "redis-cert", "", "file with our own certificate for it, with --redis-key")
	f.StringVar(&e.key, "redis-key", "", "file with the key of --redis-cert")
	f.StringVar(&e.confirmed, "i-may-load", "",
		"the hosts in that URL, HOST:PORT with commas between: without it nothing is sent to them")
}

// readExternal reads the target of plans with topology external. If there are no such plans, it refuses these flags and
// ignores the environment.
func (a *app) readExternal(cmd *cobra.Command, e *externalFlags, plans ...plan.Plan) error {
	if !slices.ContainsFunc(plans, func(p plan.Plan) bool { return p.Topology == plan.External }) {
		for _, name := range externalNames {
			if cmd.Flags().Changed(name) {
				return usage("--%s is for --topology %s: give that, or leave it out", name, plan.External)
			}
		}
		return nil
	}
	url, err := e.redisURL()
	if err != nil || url == "" {
		return err // the plan reports a missing URL
	}
	target, err := external.Parse(url)
	if err != nil {
		return usage("%w", err)
	}
	var texts [3]string
	for i, file := range []string{e.ca, e.cert, e.key} {
		if file == "" {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return usage("no certificate or key: %w: name a file that can be read", err)
		}
		texts[i] = string(b)
	}
	if target, err = target.WithTLS(texts[0], texts[1], texts[2]); err != nil {
		return usage("%w", err)
	}
	a.external.Target, a.external.Confirmed = &target, e.confirmed
	return nil
}

// redisURL returns the URL of the external Redis; empty if none was given.
func (e *externalFlags) redisURL() (string, error) {
	switch {
	case e.url != "" && e.urlFile != "":
		return "", usage("--redis and --redis-url-file are two names of one Redis: leave one of them out")
	case e.url != "":
		return e.url, nil
	case e.urlFile == "":
		return os.Getenv(plan.ExternalURL), nil
	}
	b, err := os.ReadFile(e.urlFile)
	if err != nil {
		return "", usage("--redis-url-file: %w: name a file that can be read", err)
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", usage("--redis-url-file %s is empty: write the URL of Redis into it", e.urlFile)
	}
	return string(b), nil
}
