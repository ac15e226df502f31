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

// checkEnds refuses two ends that never have a link between them, whichever node is primary and whatever is drawn.
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
		return fmt.Errorf("clients accept no connections, so none leads from %s to %s: name nodes or Sentinels in to",
			f.From, f.To)
	}
	return fmt.Errorf("no link lies between %s and %s, which are one host: name two", f.From, f.To)
}
