package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/nemesis"
)

// checkLinks refuses links and shapes that the topology does not have.
func (f FaultPlan) checkLinks(on blueprint) error {
	if f.Shape != "" {
		if err := f.configured.CheckShape(on); err != nil {
			return err
		}
		if _, err := on.Primary(context.Background()); err != nil && !slices.Contains(ofMasters, f.Shape) {
			return err
		}
	}
	if f.From == "" {
		return nil
	}
	from, to := f.configured.Ends()
	for _, end := range []nemesis.Target{from, to} {
		if _, err := on.pickTarget(end); err != nil {
			return err
		}
	}
	return f.checkEnds(on)
}

// checkEnds refuses two ends that never have a link between them, whatever the primary and the random choice of hosts.
func (f FaultPlan) checkEnds(on blueprint) error {
	toClients := false
	for _, on := range on.elections(true) {
		for seed := range uint64(draws) {
			links, err := f.linksOn(on, seed)
			if err != nil {
				return err
			}
			for _, l := range links {
				if !slices.Contains(on.ClientGroups(), l.To) {
					return nil
				}
				toClients = true
			}
		}
	}
	if toClients {
		return fmt.Errorf("clients accept no connections, so there is none from %s to %s: let to name nodes or "+
			"Sentinels",
			f.From, f.To)
	}
	return fmt.Errorf("%s and %s are the same host, so there is no link between them: name two hosts", f.From, f.To)
}
