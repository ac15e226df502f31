package adapters_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/workloads"
)

const (
	loadClients = 100
	loadFor     = 4 * time.Second // measured time
	loadWarm    = 2 * time.Second // warm-up before that: interpreters compile what runs often
)

// loadRounds is how often BenchmarkLoad measures each adapter and its bare loop, in turn.
var loadRounds = 5

// BenchmarkLoad compares a lock of an adapter under load with a bare loop in the adapter's language. Both do the same
// operations by the same Redis client, with as many connections and processes. The adapter connects to its node
// directly, as in runs without faults, or through relays.
//
// The figure of-bare compares rates. The figure of-bare-cpu compares the processor time of an operation, including
// Redis and the harness: 0.5 is twice the time of the bare loop. It depends less on the machine's other load.
func BenchmarkLoad(b *testing.B) {
	for _, l := range []struct {
		language   language
		file, bare string
	}{{python, "python/lock.py", "testdata/bare.py"}, {node, "javascript/lock.js", "testdata/bare.js"}} {
		for _, groups := range []int{5, 1} {
			b.Run(fmt.Sprintf("%s/processes-%d", l.file, groups), func(b *testing.B) {
				tool := l.language.interpreter(b)
				for b.Loop() {
					all := map[string][]float64{}
					for range loadRounds {
						bare := bareLoops(b, groups, []string{tool, l.bare})
						all["bare-ops/s"] = append(all["bare-ops/s"], bare.rate)
						for how, direct := range map[string]bool{"direct": true, "relayed": false} {
							ours := loaded(b, groups, []string{tool, l.file}, direct)
							all[how+"-ops/s"] = append(all[how+"-ops/s"], ours.rate)
							all[how+"-of-bare"] = append(all[how+"-of-bare"], ours.rate/bare.rate)
							all[how+"-of-bare-cpu"] = append(all[how+"-of-bare-cpu"],
								bare.spent.Seconds()/ours.spent.Seconds())
						}
					}
					for unit, each := range all {
						report(b, each, unit)
					}
				}
			})
		}
	}
}

// report reports the median, the least and the most of all values.
func report(b *testing.B, all []float64, unit string) {
	slices.Sort(all)
	b.ReportMetric(all[len(all)/2], unit)
	b.ReportMetric(all[0], "least-"+unit)
	b.ReportMetric(all[len(all)-1], "most-"+unit)
}

// figure is one measurement of an adapter or of a bare loop.
type figure struct {
	rate  float64       // operations a second
	spent time.Duration // processor time of an operation, of all processes
}

// loaded measures an adapter's lock under load, whose processes connect to their node directly or through the relay. It
// prints the processor time of an operation for each program.
func loaded(b *testing.B, groups int, command []string, direct bool) figure {
	v, err := adapter.Variant(workloads.Adapter{As: workloads.Lock, Command: command,
		Can: []string{"acquire", "extend", "release"}, Symmetric: true})
	require.NoError(b, err)
	defer v.Close()
	c := cluster.Standalone(cluster.Options{Clients: loadClients, ClientGroups: groups})
	if direct {
		v.ConnectDirectly(c.DirectAddress)
	}
	w := v.Workload(c, workloads.Options{})
	var first, last gauge
	_, err = harness.Run(b.Context(), harness.Spec{
		Name: v.ID, System: c, Workload: w, Clients: loadClients, Duration: loadWarm + loadFor + time.Second/2,
		Checkers: checkers.For(w), Seed: 1,
		Progress: func(p harness.Progress) {
			switch now := read(p.OK + p.Fail + p.Info); {
			case p.Elapsed < loadWarm:
				first = now
			default:
				last = now
			}
		},
	})
	require.NoError(b, err)
	fmt.Printf("direct %-5t: %s\n", direct, last.since(first))
	return figure{last.rate(first), last.spentEach(first)}
}

// bareLoops measures bare loops in as many processes as there are groups.
func bareLoops(b *testing.B, groups int, command []string) figure {
	c := cluster.Standalone(cluster.Options{Clients: loadClients})
	clustertest.Start(b, c)
	url := "redis://" + c.Deployment().Nodes[0].Real
	rates := make([]float64, groups)
	var running sync.WaitGroup
	for i := range rates {
		running.Go(func() {
			out, err := exec.Command(command[0],
				append(command[1:], url, fmt.Sprint(loadClients/groups), fmt.Sprint(loadWarm.Seconds()),
					fmt.Sprint(loadFor.Seconds()))...).Output()
			if err == nil {
				rates[i], err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	time.Sleep(loadWarm) // the same warm-up
	first := read(0)
	time.Sleep(loadFor - time.Second/2) // while all are running
	last := read(0)
	running.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	last.count = int64(sum * last.at.Sub(first.at).Seconds())
	fmt.Println("bare          :", last.since(first))
	return figure{sum, last.spentEach(first)}
}

// gauge holds how many operations were done up to a moment, and the processor time that was spent.
type gauge struct {
	at    time.Time
	count int64                    // of operations
	spent map[string]time.Duration // by this process and the processes that it has started, by name
}

// read returns a gauge at count operations.
func read(count int64) gauge {
	g := gauge{time.Now(), count, map[string]time.Duration{}}
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail
	g.spent["harness"] = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range all {
		text, _ := os.ReadFile(path) // the process may have ended
		name, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 13 || f[1] != fmt.Sprint(os.Getpid()) {
			continue
		}
		user, _ := strconv.Atoi(f[11]) // in hundredths of a second, like the next
		system, _ := strconv.Atoi(f[12])
		n := name[strings.Index(name, "(")+1:]
		g.spent[n] += time.Duration(user) * time.Second / 100
		g.spent[n+" system"] += time.Duration(system) * time.Second / 100
	}
	return g
}

func (g gauge) rate(before gauge) float64 {
	return float64(g.count-before.count) / g.at.Sub(before.at).Seconds()
}

// spentEach returns the processor time of an operation, of all processes together.
func (g gauge) spentEach(before gauge) (sum time.Duration) {
	for name, spent := range g.spent {
		sum += spent - before.spent[name]
	}
	return sum / time.Duration(max(g.count-before.count, 1))
}

// since describes the processor time of an operation, by program.
func (g gauge) since(before gauge) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(g.spent)) {
		parts = append(parts, fmt.Sprintf("%d µs of %s",
			((g.spent[name]-before.spent[name])/time.Duration(max(g.count-before.count, 1))).Microseconds(), name))
	}
	return fmt.Sprintf("%s; %.0f a second", strings.Join(parts, ", "), g.rate(before))
}
