package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

func TestWhatCannotBeOnExternalIsRefusedByName(t *testing.T) {
	plan := func(change func(p *Plan)) Plan {
		p := Plan{Variant: "lock/set-nx-px", Topology: External}
		change(&p)
		return p
	}
	for want, change := range map[string]func(p *Plan){
		"lock/redisson cannot run on":                func(p *Plan) { p.Variant = "lock/redisson" },
		"lock/redlock cannot run on":                 func(p *Plan) { p.Variant = "lock/redlock" },
		"sequence/string-compare-hash cannot run on": func(p *Plan) { p.Variant = "sequence/string-compare-hash" },
		"sequence/incr-wait cannot run on":           func(p *Plan) { p.Variant = "sequence/incr-wait" },
		"writes/sadd-wait cannot run on":             func(p *Plan) { p.With = []string{"writes/sadd-wait"} },
		"script/take cannot run on": func(p *Plan) {
			p.Variant, p.Script = "", &workloads.Script{Name: "take", As: "lock", Source: "return 1", Keys: []string{"fixed"}, Release: "return 1"}
		},
		"client/lock cannot run on": func(p *Plan) {
			p.Variant, p.Client = "", &workloads.Client{As: "lock", Command: []string{"python3", "lock.py"}}
		},
		"lib/rq-scheduler-lock cannot run on":       func(p *Plan) { p.Variant = "lib/rq-scheduler-lock" },
		"on is about nodes that doublegrant starts": func(p *Plan) { p.On = "docker" },
		"aof is about":                         func(p *Plan) { p.AOF = "always" },
		"minReplicas is about":                 func(p *Plan) { p.MinReplicas = 1 },
		"downAfter is about":                   func(p *Plan) { p.DownAfter = time.Second },
		"kill-primary is not for":              func(p *Plan) { p.Nemesis = []string{"kill-primary"} },
		"no link lies between nodes and nodes": func(p *Plan) { p.Nemesis = []string{"flaky-network"} },
		"a prefix has 3 to 100":                func(p *Plan) { p.Prefix = "a*b:" },
		"letters, digits":                      func(p *Plan) { p.Prefix = "x" },
		"a prefix is for --topology external":  func(p *Plan) { p.Topology, p.Prefix = Sentinel, "mine:" },
	} {
		err := plan(change).Check()
		require.ErrorIs(t, err, ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
}

// TestEveryFaultOnExternalStrikesOursOnly tries every fault of the catalogue. Those that are let through strike clients, or links that
// clients open.
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
		for _, f := range r.faults.timedFaults() {
			if f.fault.it.Can(nemesis.OfClients) {
				continue
			}
			require.False(t, f.fault.it.Can(nemesis.MayLose|nemesis.Loses|nemesis.Forgets|nemesis.Evicts|nemesis.Ages|nemesis.SetsClocks), name)
			if f.fault.From != "" {
				links, err := f.fault.linksOn(r.on, 1)
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

// TestALoadOnExternalNeedsItsWholeAddress: what else is refused before anybody is dialed is tested in harness/cli.
func TestALoadOnExternalNeedsItsWholeAddress(t *testing.T) {
	r := resolved(t, Plan{Variant: "lock/set-nx-px", Topology: External})
	to, err := external.Parse("redis://127.0.0.1:1")
	require.NoError(t, err)
	_, err = r.Preflight(Machine{External: OnExternal{Target: &to, Confirmed: "127.0.0.1"}})
	require.ErrorIs(t, err, ErrUsage)
	require.ErrorContains(t, err, "would hit 127.0.0.1:1")
}

func TestTheCommandOfAnExternalRunSaysWhereTheURLGoes(t *testing.T) {
	p := Plan{Variant: "lock/set-nx-px", Topology: External, Prefix: "mine:", Seed: 7}
	require.Equal(t, "DOUBLEGRANT_REDIS_URL=URL doublegrant run lock/set-nx-px --topology=external --prefix=mine: --seed=7 --i-may-load=HOST:PORT", p.Command())
	require.NotContains(t, Plan{Variant: "lock/set-nx-px"}.Command(), "URL")
}
