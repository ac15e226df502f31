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
	ca, cert, key string // paths of files
	confirmed     string
}

// externalNames lists the flags of externalFlags. The flag --prefix is not one of them, since it belongs to the plan.
var externalNames = []string{"redis", "redis-url-file", "redis-ca", "redis-cert", "redis-key", "i-may-load"}

func (e *externalFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&e.url, "redis", "",
		"URL for --topology external: redis://USER:PASSWORD@HOST:PORT, or "+
			"redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER-NAME;\nrediss for TLS (default: "+
			"$"+plan.ExternalURL+", which keeps the password out of process lists)")
	f.StringVar(&e.urlFile, "redis-url-file", "", "file with that URL, instead of --redis")
	f.StringVar(&e.ca, "redis-ca", "", "file with the CA certificates that the external Redis is checked against "+
		"(default: this machine's)")
	f.StringVar(&e.cert, "redis-cert", "", "file with the client certificate for the external Redis; needs --redis-key")
	f.StringVar(&e.key, "redis-key", "", "file with the private key of --redis-cert")
	f.StringVar(&e.confirmed, "i-may-load", "",
		"confirms that these hosts of the URL may be put under load, HOST:PORT separated by commas; required")
}

// readExternal reads which external Redis the plans with topology external use. Without such a plan, it refuses the
// flags in externalNames and ignores the environment.
func (a *app) readExternal(cmd *cobra.Command, e *externalFlags, plans ...plan.Plan) error {
	if !slices.ContainsFunc(plans, func(p plan.Plan) bool { return p.Topology == plan.External }) {
		for _, name := range externalNames {
			if cmd.Flags().Changed(name) {
				return usage("--%s is for --topology %s: add that, or leave --%[1]s out", name, plan.External)
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
			return usage("cannot read the certificate or key: %w: name a file that can be read", err)
		}
		texts[i] = string(b)
	}
	if target, err = target.WithTLS(texts[0], texts[1], texts[2]); err != nil {
		return usage("%w", err)
	}
	a.external.Target, a.external.Confirmed = &target, e.confirmed
	return nil
}

// redisURL returns the URL of the external Redis, from a flag, a file or the environment; empty: none was given.
func (e *externalFlags) redisURL() (string, error) {
	switch {
	case e.url != "" && e.urlFile != "":
		return "", usage("--redis and --redis-url-file both give the URL: leave one of them out")
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
