package plan

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

func TestWhatCannotBeOnExternalIsRefusedByName(t *testing.T) {
	for want, p := range map[string]Plan{
		"lock/redisson cannot run on":                {Variant: "lock/redisson"},
		"lock/redlock cannot run on":                 {Variant: "lock/redlock"},
		"sequence/string-compare-hash cannot run on": {Variant: "sequence/string-compare-hash"},
		"sequence/incr-wait cannot run on":           {Variant: "sequence/incr-wait"},
		"writes/sadd-wait cannot run on":             {With: []string{"writes/sadd-wait"}},
		"script/take cannot run on": {
			Script: &workloads.Script{Name: "take", As: "lock", Source: "return 1", Keys: []string{"fixed"},
				Release: "return 1"},
		},
		"client/lock cannot run on": {Adapter: &workloads.Adapter{As: "lock",
			Command: []string{"python3", "lock.py"}}},
		"lib/rq-scheduler-lock cannot run on":     {Variant: "lib/rq-scheduler-lock"},
		"on is for nodes that doublegrant starts": {On: "docker"},
		"aof is for nodes":                        {AOF: "always"},
		"minReplicas is for nodes":                {MinReplicas: 1},
		"downAfter is for nodes":                  {DownAfter: time.Second},
		"kill-primary is impossible on":           {Nemesis: []string{"kill-primary"}},
		"nodes and nodes are the same host":       {Nemesis: []string{"flaky-network"}},
		"a prefix consists of 3 to 100":           {Prefix: "a*b:"},
		"letters, digits":                         {Prefix: "x"},
		"a prefix is for --topology external":     {Topology: Sentinel, Prefix: "mine:"},
	} {
		p.Topology = cmp.Or(p.Topology, External)
		if p.Script == nil && p.Adapter == nil {
			p.Variant = cmp.Or(p.Variant, "lock/set-nx-px")
		}
		err := p.Check()
		require.ErrorIs(t, err, ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

// TestEveryFaultOnExternalStrikesOursOnly tries every fault of the catalogue. Those that are allowed strike clients or
// their links only.
func TestEveryFaultOnExternalStrikesOursOnly(t *testing.T) {
	var let []string
	for _, e := range nemesis.Entries() {
		name := strings.ReplaceAll(strings.ReplaceAll(e.Name, "-HOST", ""), "-SIDES", "-clients-primary")
		r, err := Plan{Variant: "lock/set-nx-px", Topology: External, Nemesis: []string{name}}.Resolve()
		if err != nil {
			require.ErrorIs(t, err, ErrUsage)
			continue
		}
		let = append(let, name)
		for _, f := range r.faults.all() {
			if f.configured.Can(nemesis.OfClients) {
				continue
			}
			require.False(t,
				f.configured.Can(nemesis.MayLose|nemesis.Loses|nemesis.Forgets|nemesis.Evicts|nemesis.Ages|nemesis.SetsClocks), name)
			if f.From != "" {
				links, err := f.linksOn(r.on, 1)
				require.NoError(t, err)
				for _, l := range links {
					require.True(t, strings.HasPrefix(l.From, "g") || strings.HasPrefix(l.To, "g"), "%s: %v", name, l)
				}
			}
		}
	}
	require.ElementsMatch(t, []string{
		"partition-clients-primary", "one-way", "cut", "latency", "bandwidth", "slicer", "limit-data", "slow-close",
		"crash-clients", "freeze-clients", "skew-clients",
	}, let)
}

// TestALoadOnExternalNeedsItsWholeAddress covers the hosts that a user confirms. Other refusals are tested in
// harness/cli.
func TestALoadOnExternalNeedsItsWholeAddress(t *testing.T) {
	r := resolved(t, Plan{Variant: "lock/set-nx-px", Topology: External})
	to, err := external.Parse("redis://127.0.0.1:1")
	require.NoError(t, err)
	_, err = r.Preflight(Machine{External: OnExternal{Target: &to, Confirmed: "127.0.0.1"}})
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "would hit 127.0.0.1:1")
	_, err = r.Preflight(Machine{})
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "set DOUBLEGRANT_REDIS_URL")
}

func TestTheCommandOfAnExternalRunSaysWhereTheURLGoes(t *testing.T) {
	p := Plan{Variant: "lock/set-nx-px", Topology: External, Prefix: "mine:", Seed: 7}
	require.Equal(t, "DOUBLEGRANT_REDIS_URL=URL doublegrant run lock/set-nx-px --topology=external --prefix=mine: "+
		"--seed=7 --i-may-load=HOST:PORT", p.Command())
	require.NotContains(t, Plan{Variant: "lock/set-nx-px"}.Command(), "URL")
}
