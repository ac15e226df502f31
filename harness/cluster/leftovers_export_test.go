package cluster

import (
	"context"

	"github.com/moby/moby/client"
)

// RemoveDeadFolder is what the watchdog does to a folder.
var RemoveDeadFolder = removeDeadFolder

// SweepHolding removes the orphans among the containers of the daemon at dockerHost, as a start does that has claimed the
// subnet that subnetLabel says, from before the call.
func SweepHolding(ctx context.Context, dockerHost string, makeLabels func(subnetLabel string)) ([]Leftover, error) {
	own, err := claimSubnet()
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.release() }()
	makeLabels(own.label())
	api, err := client.New(client.WithHost(dockerHost))
	if err != nil {
		return nil, err
	}
	defer func() { _ = api.Close() }()
	return (&daemon{api: api}).removeOrphans(ctx, own)
}
