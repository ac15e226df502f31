package cluster

import (
	"cmp"
	"context"
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

// Preflight starts nothing; it fails when this machine cannot carry what a cluster with these options needs: ErrNoRedis,
// ErrNoDocker or ErrLimit. It returns the redis-server binary that would be used or, OnDocker, the image, which it fetches
// if it is not here.
func (o Options) Preflight() (found string, err error) {
	g, err := o.preflight(context.Background())
	return cmp.Or(g.binary, g.image), err
}

// ground is what nodes stand on.
type ground struct {
	binary string  // OnProcess
	daemon *daemon // OnDocker
	image  string  // OnDocker
}

func (o Options) preflight(ctx context.Context) (g ground, err error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return g, err
	}
	if o.On == OnDocker {
		if g.daemon, err = findDaemon(ctx); err == nil {
			g.image, err = g.daemon.findImage(ctx, o.Image)
		}
	} else {
		g.binary, _, err = FindRedis(o.RedisServer)
	}
	if err != nil {
		return g, fmt.Errorf("cluster: %w", err)
	}
	return g, o.limits()
}

// limits fails when those of this machine are too low.
func (o Options) limits() error {
	files, err := FileLimit()
	if err != nil {
		return fmt.Errorf("cluster: read the file limit: %w", err)
	}
	if most := MaxClients(files); o.Clients > most {
		return fmt.Errorf("cluster: %w: %d clients need %d open files and the limit is %d: ask for at most %d clients, or raise it (ulimit -n %d)",
			ErrLimit, o.Clients, neededFiles(o.Clients), files, most, neededFiles(o.Clients))
	}
	// The fabric's own connections to one node all come from one address.
	if ports := EphemeralPorts(); o.Clients+portsReserved > ports {
		return fmt.Errorf("cluster: %w: %d clients need %d local ports and there are %d: ask for fewer clients, or widen the range (sysctl net.ipv4.ip_local_port_range)",
			ErrLimit, o.Clients, o.Clients+portsReserved, ports)
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

// EphemeralPorts is the size of the kernel's range for outgoing connections; Linux's default if it cannot be read.
func EphemeralPorts() int {
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
