package cluster

import (
	"net"
	"time"
)

// ProcessMark and ProcessLives identify a container's owner when its folder is gone.
var (
	ProcessMark  = processMark
	ProcessLives = processLives
)

// Machine holds the limits of a machine.
type Machine = machine

// ThisMachine and ReadMachine read the limits of a machine. LimitError turns checks into Preflight's error.
var (
	ThisMachine = thisMachine
	ReadMachine = readMachine
	LimitError  = limitError
)

// Network is a network in which addresses are claimed.
type Network = network

// NetworkOf makes a network of functions. Claim claims a subnet of it, and returns the port of its Redis nodes.
func NetworkOf(listen func(addr string) (net.Listener, error), free, dial func(addr string) error) Network {
	return network{listen, free, dial}
}

// AddressFree returns nil if an address can be listened on.
var AddressFree = addressFree

func (n network) Claim() (port int, err error) {
	s, err := n.claim()
	if err != nil {
		return 0, err
	}
	return s.ports.redis, s.release()
}

// BoundVersion sets the time that redis-server may take to tell its version.
func BoundVersion(d time.Duration) (undo func()) {
	was := versionWithin
	versionWithin = d
	return func() { versionWithin = was }
}

// ChecksOn returns the checks of a cluster of several masters on some machine.
func (o Options) ChecksOn(m Machine, masters int) []Check { return o.withDefaults().checks(m, masters) }

// RedisFilesOn returns the number of files that a node in a container may open.
func (o Options) RedisFilesOn(m Machine) int64 { return o.withDefaults().redisFiles(m) }
