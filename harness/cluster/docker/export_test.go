package docker

import "github.com/doublegrant/doublegrant/harness/cluster"

// Limit lets a site that was found wait for its daemon as long as p says from now on.
func Limit(s cluster.Site, p Platform) { s.(*daemon).bounds = p.bounds() }
