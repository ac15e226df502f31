package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestEveryFaultCanBeNamedAsItIsRecorded checks that a plan accepts the name in a report, for all hosts, shapes and
// ways of cutting.
func TestEveryFaultCanBeNamedAsItIsRecorded(t *testing.T) {
	seen, tried := map[string]bool{}, 0
	for _, e := range nemesis.Entries() {
		require.False(t, seen[e.Base()], "two faults are called %s", e.Base())
		seen[e.Base()] = true
		require.NotEmpty(t, e.Doc)
		on, err := parseTopology(map[bool]string{true: ManyMasters, false: Sentinel}[e.Needs == nemesis.NeedsMasters])
		require.NoError(t, err)
		f, err := FaultPlan{}.findFault("fault", e.Base(), on)
		require.NoError(t, err, e.Name)
		require.Equal(t, e.Name, f.configured.Entry.Name)
		require.Positive(t, f.For)
		for _, p := range everyForm(e) {
			f, err := p.findFault("fault", e.Base(), on)
			if err != nil {
				continue // the fault cannot strike this host
			}
			tried++
			recorded := f.configured.Make(nemesis.Subject{Cluster: on.cluster(cluster.Options{}),
				Fleet: &harness.Fleet{}}).Name()
			require.Equal(t, f.configured.Name, recorded, "%+v", p)
			again, err := FaultPlan{}.findFault("fault", recorded, on)
			require.NoError(t, err, recorded)
			require.Equal(t, []string{e.Name, f.Host, f.Shape},
				[]string{again.configured.Entry.Name, again.Host, again.Shape}, recorded)
		}
	}
	require.Greater(t, tried, 150)
}

// TestFaultDocsHaveNames checks that each fault has names that a plan takes, and that none has a word in capitals.
func TestFaultDocsHaveNames(t *testing.T) {
	names := map[string]int{}
	for _, d := range FaultDocs() {
		require.NotEmpty(t, d.Names, d.Name)
		for _, name := range d.Names {
			require.Equal(t, strings.ToLower(name), name)
			names[name]++
		}
	}
	for _, name := range []string{"kill-primary", "restart-replica-at-once", "partition-isolate-primary", "one-way",
		"freeze-clients-group", "split-brain", "partition-primary"} {
		require.Equal(t, 1, names[name], name)
	}
	require.NotContains(t, names, "sleep-sentinel")
}

// everyForm lists an entry with each host, shape and way of cutting that it may take.
func everyForm(e nemesis.Entry) (all []FaultPlan) {
	hosts, ways, shapes := []string{""}, []string{""}, []string{""}
	if slices.Contains(e.Takes, "host") {
		hosts = strings.Fields("primary replica replicas sentinel sentinels node nodes minority majority group " +
			"clients r1 s2 g0 r1,r2")
	}
	if slices.Contains(e.Takes, "how") {
		ways = strings.Fields("hold drop drop-replies refuse")
	}
	if slices.Contains(e.Takes, "sides") {
		shapes = nil
		for _, s := range nemesis.AllShapes() {
			shapes = append(shapes, s.String())
		}
	}
	for _, host := range hosts {
		for _, how := range ways {
			for _, shape := range shapes {
				all = append(all, FaultPlan{Parameters: nemesis.Parameters{Host: host, How: how, Shape: shape}})
			}
		}
	}
	return all
}

func TestNamesLeaveTheUsualTargetAndShapeOut(t *testing.T) {
	on, err := parseTopology(Sentinel)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"kill":                "kill-HOST primary ",
		"restart-at-once":     "restart-HOST-at-once primary ",
		"client-pause-writes": "client-pause-writes-HOST primary ",
		"clock-step-forward":  "clock-step-forward-HOST primary ",
		"crash-clients":       "crash-clients-HOST group ",
		"partition-primary":   "partition-primary  split-brain",
		"partition":           "partition-SIDES  split-brain",
	} {
		f, err := FaultPlan{}.findFault("fault", name, on)
		require.NoError(t, err, name)
		require.Equal(t, want, fmt.Sprintf("%s %s %s", f.configured.Entry.Name, f.Host, f.Shape), name)
	}
}

func TestFaultsThatCannotBeAreRefusedWithTheRemedy(t *testing.T) {
	const head = "variant: lock/set-nx-px\n"
	for _, c := range []struct{ text, want string }{
		{"nemesis: restart-primry-at-once", `unknown fault "restart-primry-at-once": unknown host "primry"`},
		{"nemesis: partition-everything", `unknown fault "partition-everything": unknown sides "everything": choose split-brain`},
		{"nemesis: latency(latency=20ms)", `:2: unknown fault "latency(latency=20ms)": give parameters in a plan file (run --plan), as fields beside "fault: latency"`},
		{"nemesis: nope", `:2: unknown fault "nope": doublegrant list shows them all`},
		{"nemesis: kil-primary", `unknown fault "kil-primary": did you mean kill-HOST (such as kill-primary)`},
		{"nemesis: clock-step", `did you mean clock-step-forward-HOST (such as clock-step-forward-primary), or clock-step-backward-HOST (such as`},
		{"nemesis: flaky-netwrk", `unknown fault "flaky-netwrk": did you mean flaky-network? doublegrant list`},
		{"faults:\n  - random: [flaky-netwrk]", `unknown fault "flaky-netwrk": doublegrant list`},
		{"topology: standalone\nnemesis: kill-primary",
			":3: kill-primary needs --topology sentinel: standalone has no failover"},
		{"nemesis: kill-g1", "kill-g1 cannot strike g1: it strikes Redis nodes and Sentinels"},
		{"nemesis: sleep-sentinel", "sleep-sentinel cannot strike sentinel: it strikes Redis nodes"},
		{"nemesis: pause-r7", `:2: pause-r7 is impossible on --topology sentinel: there is no host "r7": there are r1, r2, r3, s1`},
		{"topology: standalone\nnemesis: pause-replica", ":3: pause-replica is impossible on --topology standalone"},
		{"topology: standalone\nnemesis: sentinel-failover",
			"sentinel-failover needs --topology sentinel: standalone has no Sentinels"},
		{"topology: standalone\nnemesis: partition-split-brain",
			"needs 3 Redis nodes, 3 Sentinels and 2 client groups"},
		{"topology: standalone\nnemesis: failover-storm", ":3: kill-primary needs --topology sentinel"},
		{"faults:\n  - fault: kill\n    host: primry", `:4: unknown host "primry": did you mean primary? choose`},
		{"faults:\n  - fault: kill-primary\n    host: replica",
			":4: the name kill-primary already fixes host: leave host out"},
		{"faults:\n  - fault: partition\n    sides: both", `:4: unknown sides "both": choose split-brain`},
		{"faults:\n  - fault: partition\n    how: gently",
			`:4: unknown way to cut "gently": choose one of hold, drop, drop-replies, refuse`},
		{"faults:\n  - fault: partition\n    host: r1",
			":4: host is not a parameter of partition, which takes sides, how"},
		{"faults:\n  - fault: latency\n    from: client", `:4: unknown host "client": did you mean clients? choose`},
		{"faults:\n  - fault: latency\n    to: s9",
			`:3: latency is impossible on --topology sentinel: there is no host "s9"`},
		{"faults:\n  - fault: latency\n    from: r1\n    to: r1",
			":3: latency is impossible on --topology sentinel: r1 and r1 are the same host"},
		{"faults:\n  - fault: latency\n    to: g1",
			":3: latency is impossible on --topology sentinel: clients accept no connections, so there is none from " +
				"clients " +
				"to g1"},
		{"faults:\n  - fault: one-way\n    from: primary\n    to: clients",
			":3: one-way is impossible on --topology sentinel: clients accept no connections"},
		{"faults:\n  - fault: latency\n    jitter: 20ms", ":3: latency is 0s: ask for 1ms to 1m0s"},
		{"faults:\n  - fault: latency\n    latency: 20ms\n    jitter: 30ms", ":5: jitter is 30ms: ask for 0s to 20ms"},
		{"faults:\n  - fault: clock-step-backward\n    by: -1m", ":4: by is -1m0s: ask for 3s to 24h0m0s"},
		{"nemesis: freeze-clients-r1", "freeze-clients-r1 cannot strike r1: it strikes client groups"},
		{"faults:\n  - fault: skew-clients\n    by: -1001h", ":4: by is -1001h0m0s: ask for -1000h0m0s to 1000h0m0s"},
		{"faults:\n  - fault: sleep-primary\n    for: 100ms", ":4: for is 100ms: ask for 500ms to 1h0m0s"},
		{"faults:\n  - fault: split-brain\n    for: 3s",
			":4: split-brain is a package whose faults set their own times and parameters: leave for out"},
		{"faults:\n  - random: [split-brain]", `unknown fault "split-brain"`},
		{"faults:\n  - fault: kill-primary\n  - fault: flaky-network",
			":4: flaky-network has concurrent faults: put it first, or into its own track"},

		// These would touch no traffic.
		{"faults:\n  - fault: cut\n    from: clients\n    to: replica",
			":3: cut from clients to replica would have no effect: clients talk to the primary and to Sentinels"},
		{"faults:\n  - fault: cut\n    from: g1\n    to: r2", ":3: cut from g1 to r2 would have no effect"},
		{"faults:\n  - fault: one-way\n    from: primary\n    to: sentinels",
			":3: one-way from primary to sentinels would have no effect: clients connect to the primary"},
		{"faults:\n  - fault: one-way\n    from: primary\n    to: replicas", "would have no effect"},
		{"clients: 2\nfaults:\n  - fault: cut\n    from: g4\n    to: primary", "would have no effect"},
		{"nemesis: memory-pressure-replica",
			":2: memory-pressure-replica may strike a replica, which evicts nothing by itself: name " +
				"primary as its host"},
		{"nemesis: memory-pressure-nodes", "memory-pressure-nodes may strike a replica"},
		{"nemesis: memory-pressure-r2", "memory-pressure-r2 may strike a replica"},
		{"nemesis: client-kill-replica",
			":2: client-kill-replica may strike only replicas, while clients talk to the primary: name primary or " +
				"nodes as its host"},
		{"nemesis: client-kill-node", "client-kill-node may strike only replicas"},
		{"nemesis: client-pause-writes-replicas", "client-pause-writes-replicas may strike only replicas"},
		{"faults:\n  - random: [kill-primary, client-kill-replica]\n    times: 20",
			"client-kill-replica may strike only replicas"},
		{"nemesis: partition-minority",
			":2: partition-minority may strike only replicas, while clients talk to the primary: use --topology " +
				"masters:5, or"},
		{"nemesis: partition-clients-minority", "partition-clients-minority may strike only replicas"},
		{"clients: 2\nnemesis: freeze-clients-g3",
			"freeze-clients-g3 would strike a group without clients: the 2 clients are in the groups g0 to g1"},
	} {
		_, err := planOf(t, head+c.text+"\n")
		require.ErrorIs(t, err, ErrUsage, c.text)
		require.ErrorContains(t, err, c.want, c.text)
	}
}

// timesOf returns "name after+for" for each fault of a track.
func timesOf(steps []FaultPlan) (out []string) {
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%s %v+%v", s.configured.Name, s.Start, s.For))
	}
	return out
}

func TestPackagesAreTimetablesOfTheirOwn(t *testing.T) {
	r := resolved(t, Plan{Variant: "lock/set-nx-px", Nemesis: []string{"split-brain"}, Repeat: 2})
	once := []string{"partition-split-brain 2s+5s", "partition-split-brain-replica 2s+5s",
		"partition-isolate-primary 2s+5s"}
	require.Equal(t, append(once, once...), timesOf(r.faults.tracks[""]))

	r = resolved(t, Plan{Variant: "lock/set-nx-px", Faults: []FaultPlan{
		{Fault: "kill-primary"},
		{Fault: "flaky-network", Track: "net", Start: 3 * time.Second, Times: 2, Every: time.Second},
	}})
	require.Equal(t, []string{"", "net/clients", "net/nodes", "net/sentinels", "net"}, r.faults.names)
	require.Equal(t, []string{"latency 3s+16s", "latency 1s+16s"}, timesOf(r.faults.tracks["net/nodes"]))
	net := timesOf(r.faults.tracks["net"])
	require.Equal(t, []string{"cut 4s+500ms", "cut 1s+500ms", "cut 1s+500ms", "slicer 1s+2s"}, net[:4])
	require.Equal(t, "cut 2s+500ms", net[len(net)/2], "the second time it begins a second after the first")

	require.NoError(t, Plan{Variant: "lock/set-nx-px", Nemesis: []string{"flaky-network", "kill-primary"}}.Check())
}

// TestPackagesFitIntoTheirBackground checks that a package's background fault outlasts the faults beside it.
func TestPackagesFitIntoTheirBackground(t *testing.T) {
	on, err := parseTopology(Sentinel)
	require.NoError(t, err)
	for _, p := range packages() {
		tt, err := newTimetable([]FaultPlan{{Fault: p.name}}, on, defaultCalm, 1)
		require.NoError(t, err, p.name)
		for _, name := range tt.names[1:] {
			require.Len(t, tt.tracks[name], 1)
			var beside time.Duration
			for _, s := range tt.tracks[""] {
				beside += s.Start + s.For
			}
			background := tt.tracks[name][0]
			require.Greater(t, background.Start+background.For, beside, "%s: %s", p.name, name)
		}
	}
}
