package cluster_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// ample is a machine with enough of everything for 10,000 clients.
var ample = cluster.Machine{SoftFiles: 20_300, HardFiles: 20_300, MostFiles: 1 << 20, Ports: 28_232, Backlog: 4096,
	Memory: 8 << 30}

func checkOf(t *testing.T, all []cluster.Check, name string) cluster.Check {
	t.Helper()
	i := slices.IndexFunc(all, func(c cluster.Check) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

func TestEachLimitSaysWhatIsShortAndHowToRaiseIt(t *testing.T) {
	const stops, warns = true, false
	for says, c := range map[string]struct {
		stops            bool
		short            int // how many limits are
		clients, masters int
		lower            func(*cluster.Machine)
	}{
		"open files: 10000 clients need 10300, and there are 1024: run ulimit -n 10300 first, or ask for at most 724 " +
			"clients": {
			stops, 1, 10_000, 1, func(m *cluster.Machine) { m.SoftFiles = 1024 }},
		"open files: 10000 clients need 10300, and there are 1024: run ulimit -n 10300 as root first (your own " +
			"shell: sudo prlimit --pid $$ --nofile=10300, a container: --ulimit nofile=10300, for good: nofile in " +
			"/etc/security/limits.conf or LimitNOFILE= of a service), or ask for at most 724 clients": {
			// a node's are short as well
			stops, 2, 10_000, 1, func(m *cluster.Machine) { m.SoftFiles, m.HardFiles = 1024, 10_299 }},
		"open files: 10000 clients need 10300, and there are 1024: run sysctl -w fs.nr_open=10300 and ulimit -n " +
			"10300 as root first (": {
			stops, 2, 10_000, 1, func(m *cluster.Machine) {
				m.SoftFiles, m.HardFiles, m.MostFiles = 1024, 4096, 10_299
			}},
		"open files: 4000 clients of 5 masters need 20300, and there are 20000: ": {
			stops, 1, 4000, 5, func(m *cluster.Machine) { m.SoftFiles = 20_000 }},
		"files in fault: 10000 clients may need 20300, and there are 20299 (in a failover clients dial anew " +
			"before they have hung up, and some find no file): run ulimit -n 20300 first": {
			warns, 1, 10_000, 1, func(m *cluster.Machine) { m.SoftFiles = 20_299 }},
		"local ports: 10000 clients need 4000, and there are 3999: as root: sysctl -w " +
			"net.ipv4.ip_local_port_range=\"1024 65535\", or ask for at most 9995 clients": {
			stops, 1, 10_000, 1, func(m *cluster.Machine) { m.Ports = 3999 }},
		"redis files: 10000 clients may need 15032, and there are 15031 (a node refuses clients that dial again and " +
			"again while it is paused): run ulimit -n 15032 as root first (": {
			warns, 1, 10_000, 1, func(m *cluster.Machine) { m.HardFiles = 15_031 }},
		"accept queue: 10000 clients may need 4096, and there are 128 (clients that dial at the same time wait for a " +
			"second or more): as root: sysctl -w net.core.somaxconn=4096": {
			warns, 1, 10_000, 1, func(m *cluster.Machine) { m.Backlog = 128 }},
		"memory: 10000 clients may need 2131 MiB, and there are 1024 MiB (the kernel may kill this process, or a " +
			"node): end other programs, or ask for fewer clients": {
			warns, 1, 10_000, 1, func(m *cluster.Machine) { m.Memory = 1 << 30 }},
	} {
		m := ample
		c.lower(&m)
		all := cluster.Options{Clients: c.clients}.ChecksOn(m, c.masters)
		short := slices.DeleteFunc(slices.Clone(all), func(c cluster.Check) bool { return !c.Short() })
		require.Len(t, short, c.short, says)
		require.True(t, strings.HasPrefix(short[0].String(), says), "%s: %s", says, short[0])
		require.Equal(t, c.stops, short[0].Fatal, says)
		err := cluster.LimitError(all)
		require.Equal(t, c.stops, errors.Is(err, cluster.ErrLimit), says)
		require.NotContains(t, fmt.Sprint(err), "\n", "a warning is no error")
	}
	all := cluster.Options{Clients: 10_000}.ChecksOn(ample, 1)
	require.Len(t, all, 6)
	require.False(t, slices.ContainsFunc(all, cluster.Check.Short), all)
	require.NoError(t, cluster.LimitError(all))
	require.Equal(t, "accept queue: 4096, enough for any number of clients", checkOf(t, all, "accept queue").String())
	require.Equal(t, "open files: 20300, enough for 20000 clients", checkOf(t, all, "open files").String())
}

// TestMostIsTheLastThatIsNotShort checks each limit at the number of clients in Most: one more client makes the limit
// short.
func TestMostIsTheLastThatIsNotShort(t *testing.T) {
	for _, masters := range []int{1, 5} {
		for _, c := range (cluster.Options{}).ChecksOn(ample, masters) {
			if c.Most == math.MaxInt64 {
				continue
			}
			at := func(clients int64) bool {
				return checkOf(t, cluster.Options{Clients: int(clients)}.ChecksOn(ample, masters), c.Name).Short()
			}
			require.False(t, at(c.Most), "%s of %d masters", c.Name, masters)
			require.True(t, at(c.Most+1), "%s of %d masters", c.Name, masters)
		}
	}
	tiny := cluster.Machine{SoftFiles: 256, Ports: 1}
	for _, c := range (cluster.Options{}).ChecksOn(tiny, 1) {
		require.True(t, c.Short())
		require.Zero(t, c.Most, c.Name)
	}
}

// TestPortsAreThoseOfAGroup checks that local ports are counted for each group, since each group has its own address.
func TestPortsAreThoseOfAGroup(t *testing.T) {
	m := ample
	m.Ports = 4000
	ports := func(groups int) cluster.Check {
		return checkOf(t, cluster.Options{Clients: 10_000, ClientGroups: groups}.ChecksOn(m, 1), "local ports")
	}
	require.False(t, ports(5).Short())
	require.True(t, ports(4).Short())
	widest := checkOf(t, cluster.Options{Clients: 900_000}.ChecksOn(m, 1), "local ports")
	require.Contains(t, widest.String(), "no address has more than 64512, or ask for at most 10000 clients")
}

func TestANodeInAContainerIsGivenTheFilesThatItAsksFor(t *testing.T) {
	o := cluster.Options{Clients: 100}
	require.EqualValues(t, 1832, o.RedisFilesOn(ample))
	require.EqualValues(t, 1024, o.RedisFilesOn(cluster.Machine{HardFiles: 1024}), "more than we may give")
}

func TestANodeTakesTheClientsThatItIsToTake(t *testing.T) { onProcesses.TakesItsClients(t) }

func TestWhatTheKernelTellsIsRead(t *testing.T) {
	files := func(more map[string]string) fstest.MapFS {
		fs, all := fstest.MapFS{}, map[string]string{
			"proc/sys/fs/nr_open": "1048576\n", "proc/sys/net/core/somaxconn": "4096\n",
			"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
			"proc/meminfo":                          "MemTotal: 9 kB\nMemAvailable:    2048 kB\n",
		}
		maps.Copy(all, more)
		for name, data := range all {
			fs[name] = &fstest.MapFile{Data: []byte(data)}
		}
		return fs
	}
	all := cluster.Machine{MostFiles: 1 << 20, Ports: 28_232, Backlog: 4096, Memory: 2 << 20}
	require.Equal(t, all, cluster.ReadMachine(files(nil)))
	require.Equal(t, cluster.Machine{}, cluster.ReadMachine(fstest.MapFS{}), "what is not there is not known")
	require.Empty(t, cluster.Options{}.ChecksOn(cluster.Machine{}, 1), "and not checked")
	for name, more := range map[string]map[string]string{
		"version 2, a parent's limit": {
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "1000000\n", "sys/fs/cgroup/a/memory.current": "700000\n",
			"sys/fs/cgroup/a/memory.stat": "anon 5\ninactive_file 100000\n",
		},
		"version 1": {
			"proc/self/cgroup":                             "9:cpu:/x\n4:memory:/a\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.stat":           "inactive_file 7\ntotal_inactive_file 100000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "700000\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000000\n",
		},
		"a container that sees its path outside": {
			"proc/self/cgroup": "4:memory:/docker/0123\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "600000\n",
		},
	} {
		require.EqualValues(t, 400_000, cluster.ReadMachine(files(more)).Memory, name)
	}
	full := files(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5\n",
		"sys/fs/cgroup/memory.current": "9\n"})
	require.EqualValues(t, 1, cluster.ReadMachine(full).Memory, "none left is not the same as not known")
	odd := files(map[string]string{"proc/sys/net/ipv4/ip_local_port_range": "60999 32768",
		"proc/meminfo": "MemAvailable: many kB"})
	require.Equal(t, cluster.Machine{MostFiles: 1 << 20, Backlog: 4096}, cluster.ReadMachine(odd))
}

// TestThisMachine reads the limits of the real machine.
func TestThisMachine(t *testing.T) {
	m := cluster.ThisMachine()
	for name, n := range map[string]int64{"soft files": m.SoftFiles, "hard files": m.HardFiles, "nr_open": m.MostFiles,
		"ports": m.Ports, "backlog": m.Backlog, "memory": m.Memory} {
		require.Positive(t, n, name)
	}
	require.LessOrEqual(t, m.SoftFiles, m.HardFiles)
	require.Len(t, cluster.Options{}.Checks(), 6)
}

// TestARaisedFileLimitIsThatOfChildren checks RaiseFileLimit: without it Go gives children the old limit.
func TestARaisedFileLimitIsThatOfChildren(t *testing.T) {
	var l syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l))
	half := l
	half.Cur = l.Max / 2
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &half))
	// as it was: the test has failed already, if not
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) })
	require.NoError(t, cluster.RaiseFileLimit())
	out, err := exec.Command("sh", "-c", "ulimit -Sn; ulimit -Hn").Output()
	require.NoError(t, err)
	limits := strings.Fields(string(out))
	require.Len(t, limits, 2)
	require.Equal(t, limits[1], limits[0])
}
