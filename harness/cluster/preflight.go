package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

const (
	fdsPerClient  = 3   // the client's end, the fabric's two
	fdsReserved   = 300 // nodes, Sentinels, logs, and connections that a partition keeps waiting
	portsReserved = 2000
)

// preflight fails, before anything is started, when this machine cannot carry what was asked for.
func (c *Cluster) preflight() (err error) {
	if err := c.opts.validate(); err != nil {
		return err
	}
	if c.binary, err = FindRedis(c.opts.RedisServer); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	files, err := FileLimit()
	if err != nil {
		return fmt.Errorf("cluster: read the file limit: %w", err)
	}
	if most := MaxClients(files); c.opts.Clients > most {
		return fmt.Errorf("cluster: %w: %d clients need %d open files and the limit is %d: ask for at most %d clients, or raise it (ulimit -n %d)",
			ErrLimit, c.opts.Clients, neededFiles(c.opts.Clients), files, most, neededFiles(c.opts.Clients))
	}
	// The fabric's own connections to one node all come from one address.
	if ports := ephemeralPorts(); c.opts.Clients+portsReserved > ports {
		return fmt.Errorf("cluster: %w: %d clients need %d local ports and there are %d: widen net.ipv4.ip_local_port_range (sysctl), or ask for fewer clients",
			ErrLimit, c.opts.Clients, c.opts.Clients+portsReserved, ports)
	}
	return nil
}

// FileLimit is how many files this process may open.
func FileLimit() (int, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	return int(min(l.Cur, 1<<30)), nil
}

// MaxClients is how many clients fit into a limit of open files.
func MaxClients(files int) int { return max(0, (files-fdsReserved)/fdsPerClient) }

func neededFiles(clients int) int { return clients*fdsPerClient + fdsReserved }

// ephemeralPorts is the size of the kernel's range for outgoing connections; Linux's default if it cannot be read.
func ephemeralPorts() int {
	const usual = 60999 - 32768 + 1
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual
	}
	f := strings.Fields(string(b))
	if len(f) != 2 {
		return usual
	}
	low, err1 := strconv.Atoi(f[0])
	high, err2 := strconv.Atoi(f[1])
	if err1 != nil || err2 != nil || high < low {
		return usual
	}
	return high - low + 1
}
