// Package examples has the jobs of CI systems that run a suite in shards. README.md lists them.
package examples

import "embed"

// Files has the jobs, each by the name of its system.
//
//go:embed *.yaml
var Files embed.FS
