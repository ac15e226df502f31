package cluster

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

const (
	fdsPerClient = 1 // number of files of a client, for each master that it talks to
	// fdsReserved is for nodes, Sentinels, logs, and links between nodes. In a measurement, 1000 clients of one node
	// had 1019 files in all.
	fdsReserved   = 300
	portsReserved = 2000

	redisBacklog  = 4096 // the nodes' setting tcp-backlog
	redisReserved = 32   // number of files that redis-server keeps for itself

	// bytesPerClient is more than was ever measured, redis-servers included. In about 10 s of lock/set-nx-px on one node
	// the peak was 53, 102 and 259 MB with 100, 1000 and 4000 clients: 53 KB for each further client. Under the fault
	// latency it was 210 MB with 1000 clients: 174 KB for each further client.
	bytesPerClient = 192 << 10
	bytesReserved  = 256 << 20
)

// redisClients returns the maxclients of a node. It is larger than the number of clients: a client that has timed out
// dials again while the node still has, or has not yet accepted, the client's old connection. In a measurement, after a
// pause of 8 s, 500 clients had 2008 connections, and a node with a maxclients of 968 refused 2865. The backlog bounds
// the connections that wait to be accepted.
func redisClients(clients int64) int64 { return min(8*clients+1000, clients+redisBacklog+904) }

// redisFiles returns the number of files that a node may open: what it needs, but at most this process's hard limit.
func (o Options) redisFiles(m machine) int64 {
	return min(m.HardFiles, redisClients(int64(o.Clients))+redisReserved)
}

// Check compares one limit of this machine with what a cluster needs.
type Check struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`          // number of clients that Need is for
	Masters int    `json:"masters"`          // number of masters; each client has a connection to each
	Need    int64  `json:"need"`             // what the cluster needs; in bytes for memory, a count for other limits
	Have    int64  `json:"have"`             // what the machine has, in the unit of Need
	Most    int64  `json:"most"`             // number of clients for which Have is enough; math.MaxInt64: any number
	Fatal   bool   `json:"stops"`            // no cluster starts if the limit is too low; false: there is a warning
	Effect  string `json:"effect,omitempty"` // what may happen if the limit is too low; only set if Fatal is false
	Raise   string `json:"raise"`            // how to raise the limit to Need

	bytes bool // Need and Have count bytes
}

// Short reports whether the machine has less than is needed.
func (c Check) Short() bool { return c.Have < c.Need }

// String returns the name, the finding and, if the limit is short, the remedy on one line.
func (c Check) String() string {
	if !c.Short() {
		return c.Name + ": " + c.Finding()
	}
	return c.Name + ": " + c.Finding() + ": " + c.Remedy()
}

// Finding says what is needed and what there is.
func (c Check) Finding() string {
	have := c.amount(c.Have)
	switch {
	case !c.Short() && c.Most == math.MaxInt64:
		return have + ", enough for any number of clients"
	case !c.Short():
		return fmt.Sprintf("%s, enough for %d clients", have, c.Most)
	case c.Fatal:
		return fmt.Sprintf("%s need %s, and there are %s", c.whose(), c.amount(c.Need), have)
	}
	return fmt.Sprintf("%s may need %s, and there are %s (%s)", c.whose(), c.amount(c.Need), have, c.Effect)
}

// Remedy says what to do if the limit is short.
func (c Check) Remedy() string {
	if c.Fatal && c.Most > 0 {
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

// Checks compares this machine's limits with what a cluster of one master and its replicas needs. Limits that cannot be
// read are left out. Preflight fails if a check is Short and Fatal.
func (o Options) Checks() []Check { return o.withDefaults().checks(thisMachine(), 1) }

// TooLow returns ErrLimit with every limit of Checks that is too low for a cluster. It returns nil if no limit is too
// low.
func (o Options) TooLow() error { return limitError(o.Checks()) }

// checks returns the checks for a cluster in which each client has a connection to each of the masters.
func (o Options) checks(m machine, masters int) (all []Check) {
	links, groups := int64(masters), int64(o.ClientGroups)
	add := func(have int64, need func(clients int64) int64, c Check) {
		if have > 0 {
			c.Clients, c.Masters = o.Clients, masters
			c.Have, c.Need, c.Most = have, need(int64(o.Clients)), mostClients(have, need)
			c.Raise = m.raiseAdvice(c, o.ClientGroups)
			all = append(all, c)
		}
	}
	files := func(n int64) int64 { return fdsReserved + n*fdsPerClient*links }
	if !o.RemoteClients {
		add(m.SoftFiles, files, Check{Name: openFiles, Fatal: true})
	}
	if !o.RemoteClients && m.SoftFiles >= files(int64(o.Clients)) {
		add(m.SoftFiles, func(n int64) int64 { return files(2 * n) },
			Check{Name: faultFiles, Effect: "in a failover clients dial anew before they have hung up, and some find " +
				"no file"})
	}
	add(m.Ports, func(n int64) int64 { return portsReserved + (n*links+groups-1)/groups },
		Check{Name: localPorts, Fatal: true})
	add(m.HardFiles, func(n int64) int64 { return redisClients(n) + redisReserved },
		Check{Name: redisFiles, Effect: "a node refuses clients that dial again and again while it is paused"})
	add(m.Backlog, func(n int64) int64 { return min(n, redisBacklog) },
		Check{Name: acceptQueue, Effect: "clients that dial at the same time wait for a second or more"})
	add(m.Memory, func(n int64) int64 { return bytesReserved + n*bytesPerClient*links },
		Check{Name: memory, Effect: "the kernel may kill this process, or a node", bytes: true})
	return all
}

// Names of checks.
const (
	openFiles   = "open files"
	faultFiles  = "files in fault"
	localPorts  = "local ports"
	redisFiles  = "redis files"
	acceptQueue = "accept queue"
	memory      = "memory"
)

// mostClients returns the largest number of clients for which the amount in the parameter have is enough. The given
// function returns the amount that a number of clients needs. The result is math.MaxInt64 if the amount is enough for
// any number.
func mostClients(have int64, need func(clients int64) int64) int64 {
	n := sort.Search(math.MaxInt32, func(i int) bool { return need(int64(i)) > have })
	if n == math.MaxInt32 {
		return math.MaxInt64
	}
	return int64(max(0, n-1))
}

// mostPorts is the number of ports in the widest range of local ports: those below 1024 are for root.
const mostPorts = 65535 - 1024 + 1

// raiseAdvice returns the advice for raising a limit to what is needed.
func (m machine) raiseAdvice(c Check, groups int) string {
	switch c.Name {
	case openFiles, faultFiles, redisFiles:
		return m.raiseFiles(c.Need)
	case localPorts:
		if c.Need > mostPorts {
			return fmt.Sprintf("each of %d client groups has an address of its own, and no address has more than %d",
				groups, mostPorts)
		}
		return `as root: sysctl -w net.ipv4.ip_local_port_range="1024 65535"`
	case acceptQueue:
		return fmt.Sprintf("as root: sysctl -w net.core.somaxconn=%d", redisBacklog)
	}
	return "end other programs, or ask for fewer clients"
}

// raiseFiles returns the advice for letting this process and its children open that many files.
func (m machine) raiseFiles(need int64) string {
	if need <= m.HardFiles {
		return fmt.Sprintf("run ulimit -n %d first", need)
	}
	kernel := ""
	if m.MostFiles > 0 && need > m.MostFiles {
		kernel = fmt.Sprintf("sysctl -w fs.nr_open=%d and ", need)
	}
	return fmt.Sprintf("run %sulimit -n %d as root first (your own shell: sudo prlimit --pid $$ --nofile=%d, a "+
		"container: --ulimit nofile=%d, for good: nofile in /etc/security/limits.conf or LimitNOFILE= of a "+
		"service)", kernel, need, need, need)
}

// shortChecks returns the checks that are short and have the given value of Fatal.
func shortChecks(all []Check, fatal bool) (some []Check) {
	for _, c := range all {
		if c.Short() && c.Fatal == fatal {
			some = append(some, c)
		}
	}
	return some
}

// limitError returns ErrLimit with a line for each limit that stops a cluster, or nil if none does.
func limitError(all []Check) error {
	var lines []error
	for _, c := range shortChecks(all, true) {
		lines = append(lines, errors.New(c.String()))
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("cluster: %w: %w", ErrLimit, errors.Join(lines...))
}
