package cluster

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

const (
	fdsPerClient  = 1   // for each master that it talks to
	fdsReserved   = 300 // nodes, Sentinels, logs, links between nodes: measured, 1000 clients of one node had 1019 in all
	portsReserved = 2000

	redisBacklog  = 4096 // tcp-backlog
	redisReserved = 32   // files that redis-server keeps for itself

	// Measured at peak, redis-servers included, in about 10 s of lock/set-nx-px on one node: 53, 102 and 259 MB with 100, 1000 and
	// 4000 clients, that is 53 KB a client; 210 MB with 1000 while latency was in force, that is 174 KB.
	bytesPerClient = 192 << 10
	bytesReserved  = 256 << 20
)

// redisClients is the maxclients of a node. Clients that time out dial again while the node still has, or has yet to
// accept, the connections that they gave up: measured, 500 clients had 2008 after a pause of 8 s, and of a node that takes 968
// it refused 2865. What waits to be accepted is bounded by the backlog.
func redisClients(clients int64) int64 { return min(8*clients+1000, clients+redisBacklog+904) }

// redisFiles is how many files a node may open: what it asks for, or as many as we may give.
func (o Options) redisFiles(m machine) int64 {
	return min(m.HardFiles, redisClients(int64(o.Clients))+redisReserved)
}

// Check is one limit of this machine beside what a cluster needs of it.
type Check struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"` // how many the need is that of
	Masters int    `json:"masters"` // to each of which each client has a connection
	Need    int64  `json:"need"`    // bytes of memory, else a count
	Have    int64  `json:"have"`
	Most    int64  `json:"most"`             // clients that Have is enough for; math.MaxInt64: any number
	Stops   bool   `json:"stops"`            // where it is short no cluster starts; else it is a warning
	Effect  string `json:"effect,omitempty"` // of a warning: what may happen
	Raise   string `json:"raise"`            // how to raise it to Need

	bytes bool // Need and Have are
}

// Short says that the machine has less than is needed.
func (c Check) Short() bool { return c.Have < c.Need }

// String is all about a limit on one line.
func (c Check) String() string {
	if !c.Short() {
		return c.Name + ": " + c.Finding()
	}
	return c.Name + ": " + c.Finding() + ": " + c.Remedy()
}

// Finding is what is needed and what there is.
func (c Check) Finding() string {
	have := c.amount(c.Have)
	switch {
	case !c.Short() && c.Most == math.MaxInt64:
		return have + ", enough for any number of clients"
	case !c.Short():
		return fmt.Sprintf("%s, enough for %d clients", have, c.Most)
	case c.Stops:
		return fmt.Sprintf("%s need %s, and there are %s", c.whose(), c.amount(c.Need), have)
	}
	return fmt.Sprintf("%s may need %s, and there are %s (%s)", c.whose(), c.amount(c.Need), have, c.Effect)
}

// Remedy is what to do if it is short.
func (c Check) Remedy() string {
	if c.Stops && c.Most > 0 {
		return fmt.Sprintf("%s, or ask for at most %d clients", c.Raise, c.Most)
	}
	return c.Raise
}

func (c Check) whose() string {
	if c.Masters > 1 {
		return fmt.Sprintf("%d clients of %d masters", c.Clients, c.Masters)
	}
	return fmt.Sprintf("%d clients", c.Clients)
}

func (c Check) amount(n int64) string {
	if c.bytes {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprint(n)
}

// Checks compares this machine's limits with what a cluster of one master and its replicas needs; those that cannot be
// read are left out. Preflight fails if one that Stops is Short.
func (o Options) Checks() []Check { return o.withDefaults().checks(thisMachine(), 1) }

// checks are those of a cluster in which each client has a connection to each of several masters.
func (o Options) checks(m machine, masters int) (all []Check) {
	links, groups := int64(masters), int64(o.ClientGroups)
	add := func(have int64, need func(clients int64) int64, c Check) {
		if have > 0 {
			c.Clients, c.Masters, c.Have, c.Need, c.Most = o.Clients, masters, have, need(int64(o.Clients)), most(have, need)
			c.Raise = m.raise(c, o.ClientGroups)
			all = append(all, c)
		}
	}
	files := func(n int64) int64 { return fdsReserved + n*fdsPerClient*links }
	add(m.SoftFiles, files, Check{Name: openFiles, Stops: true})
	if m.SoftFiles >= files(int64(o.Clients)) {
		add(m.SoftFiles, func(n int64) int64 { return files(2 * n) },
			Check{Name: faultFiles, Effect: "in a failover clients dial anew before they have hung up, and some find no file"})
	}
	add(m.Ports, func(n int64) int64 { return portsReserved + (n*links+groups-1)/groups },
		Check{Name: localPorts, Stops: true})
	add(m.HardFiles, func(n int64) int64 { return redisClients(n) + redisReserved },
		Check{Name: redisFiles, Effect: "a node refuses clients that dial again and again while it is paused"})
	add(m.Backlog, func(n int64) int64 { return min(n, redisBacklog) },
		Check{Name: acceptQueue, Effect: "clients that dial at the same time wait for a second or more"})
	add(m.Memory, func(n int64) int64 { return bytesReserved + n*bytesPerClient*links },
		Check{Name: memory, Effect: "the kernel may kill this process, or a node", bytes: true})
	return all
}

// The names of checks.
const (
	openFiles   = "open files"
	faultFiles  = "open files in a fault"
	localPorts  = "local ports"
	redisFiles  = "redis files"
	acceptQueue = "accept queue"
	memory      = "memory"
)

// most is how many clients do with what there is.
func most(have int64, need func(clients int64) int64) int64 {
	n := sort.Search(math.MaxInt32, func(i int) bool { return need(int64(i)) > have })
	if n == math.MaxInt32 {
		return math.MaxInt64
	}
	return int64(max(0, n-1))
}

// mostPorts is how many the widest range has: those below are for root.
const mostPorts = 65535 - 1024 + 1

// raise is how to raise a limit to what is needed.
func (m machine) raise(c Check, groups int) string {
	switch c.Name {
	case openFiles, faultFiles, redisFiles:
		return m.raiseFiles(c.Need)
	case localPorts:
		if c.Need > mostPorts {
			return fmt.Sprintf("each of %d client groups has an address of its own, and no address has more than %d", groups, mostPorts)
		}
		return `as root: sysctl -w net.ipv4.ip_local_port_range="1024 65535"`
	case acceptQueue:
		return fmt.Sprintf("as root: sysctl -w net.core.somaxconn=%d", redisBacklog)
	}
	return "end other programs, or ask for fewer clients"
}

// raiseFiles is how to let this process, and its children, open that many files.
func (m machine) raiseFiles(need int64) string {
	if need <= m.HardFiles {
		return fmt.Sprintf("run ulimit -n %d first", need)
	}
	kernel := ""
	if m.MostFiles > 0 && need > m.MostFiles {
		kernel = fmt.Sprintf("sysctl -w fs.nr_open=%d and ", need)
	}
	return fmt.Sprintf("run %sulimit -n %d as root first (your own shell: sudo prlimit --pid $$ --nofile=%d, a container: --ulimit nofile=%d, "+
		"for good: nofile in /etc/security/limits.conf or LimitNOFILE= of a service)", kernel, need, need, need)
}

// short are the checks that are short and stop a cluster, or do not.
func short(all []Check, stops bool) (some []Check) {
	for _, c := range all {
		if c.Short() && c.Stops == stops {
			some = append(some, c)
		}
	}
	return some
}

// limitError is ErrLimit with a line for each limit that stops a cluster; nil if none does.
func limitError(all []Check) error {
	var lines []error
	for _, c := range short(all, true) {
		lines = append(lines, errors.New(c.String()))
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("cluster: %w: %w", ErrLimit, errors.Join(lines...))
}
