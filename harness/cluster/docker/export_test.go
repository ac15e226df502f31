package docker

import "github.com/doublegrant/doublegrant/harness/cluster"

// Limit sets the timeouts of a site to those of p.
func Limit(s cluster.Site, p Platform) { s.(*daemon).bounds = p.bounds() }
