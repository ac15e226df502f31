package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"time"
)

const (
	lockPort = 6378 // the run that owns a subnet 127.X listens on this port at 127.X.0.1

	// Addresses have the form 127.X.P.H. X stands for the cluster, H for the host. P, the plane, says what the address is
	// used for.
	realPlane      = 1  // addresses at which nodes listen
	announcedPlane = 2  // addresses at which the fabric listens for nodes
	probePlane     = 3  // addresses from which the harness dials in a node's place
	clientPlane    = 10 // addresses from which client groups dial
	lookPlane      = 11 // addresses from which the harness dials in a client group's place

	firstSubnet, lastSubnet = 10, 250

	// H of the first Sentinel and of the last Sentinel. Redis nodes have a smaller H.
	firstSentinel = 1 + mostReplicas + 1
	lastHost      = firstSentinel + mostSentinels - 1
)

// ports holds two ports: all Redis nodes of a cluster listen on the first, all its Sentinels on the second.
type ports struct{ redis, sentinel int }

// portChoices lists the ports to try in turn. Another Redis that listens on all addresses of this machine may occupy
// the first ones.
var portChoices = []ports{{6379, 26379}, {7379, 27379}, {8379, 28379}}

// subnet is 127.x.0.0/16, the addresses of one cluster. It belongs to the process that has the listener in the field
// lock open. The kernel closes the listener when that process dies.
type subnet struct {
	x     int
	ports ports
	lock  net.Listener
}

// network is the part of package net that claimSubnet needs. Tests replace it to simulate a machine whose addresses are
// taken.
type network struct {
	listen func(addr string) (net.Listener, error)
	free   func(addr string) error // returns nil if addr can be listened on
	dial   func(addr string) error
}

// reachWithin bounds a dial to this machine. A dial usually takes microseconds, but a busy machine may need seconds.
const reachWithin = 5 * time.Second

var thisNetwork = network{
	listen: func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) },
	free:   addressFree,
	dial: func(addr string) error {
		conn, err := net.DialTimeout("tcp", addr, reachWithin)
		if err != nil {
			return err
		}
		return conn.Close()
	},
}

// claimSubnet claims a subnet that has no owner, and chooses ports on which nobody listens in that subnet. It tries all
// subnets in turn, beginning with a random one.
func claimSubnet() (subnet, error) { return thisNetwork.claim() }

func (n network) claim() (subnet, error) {
	count := lastSubnet - firstSubnet + 1
	start := rand.IntN(count)
	var unlocked, taken error
	for i := range count {
		s := subnet{x: firstSubnet + (start+i)%count}
		var err error
		if s.lock, err = n.listen(hostPort(s.ip(0, 1), lockPort)); err != nil {
			unlocked = err
			continue
		}
		if err := n.dial(s.lock.Addr().String()); err != nil {
			return subnet{}, errors.Join(fmt.Errorf("cluster: %w: %s cannot be reached from this machine itself: the "+
				"loopback interface seems to be down: as root: ip link set lo up: "+
				"%w", ErrLimit, s.ip(0, 1), err), s.release())
		}
		if s.ports, err = n.freePorts(s); err == nil {
			return s, nil
		}
		taken = errors.Join(err, s.release())
	}
	return subnet{}, noSubnet(unlocked, taken)
}

// noSubnet returns the error for a machine without a free subnet, with the cause and the remedy. The parameter unlocked
// is the last error from claiming a subnet, and taken is the last error from looking for free ports; either may be nil.
func noSubnet(unlocked, taken error) error {
	switch {
	case taken != nil:
		return fmt.Errorf("cluster: %w: %w", ErrLimit, taken)
	case errors.Is(unlocked, syscall.EADDRINUSE):
		return fmt.Errorf("cluster: %w: port %d of 127.%d.0.1 to 127.%d.0.1 is taken, by another program that listens "+
			"at all addresses or by as many runs: %s: "+
			"%w", ErrLimit, lockPort, firstSubnet, lastSubnet, whoListens(lockPort), unlocked)
	}
	return fmt.Errorf("cluster: %w: none of 127.%d.0.1 to 127.%d.0.1 can be listened on (all of 127.0.0.0/8 must be "+
		"local, as on Linux): %w",
		ErrLimit, firstSubnet, lastSubnet, unlocked)
}

// freePorts returns the first of portChoices on which nobody listens at any address that a node of s may get.
func (n network) freePorts(s subnet) (ports, error) {
	var taken error
	for _, p := range portChoices {
		if taken = n.allFree(s, p); taken == nil {
			return p, nil
		}
	}
	first := portChoices[0]
	return ports{}, fmt.Errorf("the ports %d, and %d others in their place, are taken: %s: %w",
		first.redis, len(portChoices)-1, whoListens(first.redis), taken)
}

// allFree returns nil if nobody listens on the ports p at any address that a node of s may get.
func (n network) allFree(s subnet, p ports) error {
	for _, plane := range []int{realPlane, announcedPlane} {
		for host := 1; host <= lastHost; host++ {
			port := p.redis
			if host >= firstSentinel {
				port = p.sentinel
			}
			if err := n.free(hostPort(s.ip(plane, host), port)); err != nil {
				return err
			}
		}
	}
	return nil
}

// whoListens returns the advice for finding and ending the program that listens on a port.
func whoListens(port int) string {
	return fmt.Sprintf("end what listens there (ss -ltnp 'sport = :%d' shows it)", port)
}

func (s subnet) ip(plane, host int) string { return fmt.Sprintf("127.%d.%d.%d", s.x, plane, host) }

func (s subnet) release() error {
	if s.lock == nil {
		return nil
	}
	err := s.lock.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func hostPort(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }
