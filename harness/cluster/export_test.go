package cluster

import (
	"net"
	"time"
)

// ProcessMark and ProcessLives are how a container's owner is known when its folder is gone.
var (
	ProcessMark  = processMark
	ProcessLives = processLives
)

// Machine is what a machine allows.
type Machine = machine

// ThisMachine and ReadMachine read the limits of a machine; LimitError is what Preflight makes of them.
var (
	ThisMachine = thisMachine
	ReadMachine = readMachine
	LimitError  = limitError
)

// Network is where addresses are claimed.
type Network = network

// NetworkOf is a network with these ways to listen, look and dial; Claim takes a subnet of it, and returns the port of its Redis
// nodes.
func NetworkOf(listen func(addr string) (net.Listener, error), free, dial func(addr string) error) Network {
	return network{listen, free, dial}
}

// AddressFree is how a claim looks whether an address can be listened on.
var AddressFree = addressFree

func (n network) Claim() (port int, err error) {
	s, err := n.claim()
	if err != nil {
		return 0, err
	}
	return s.ports.redis, s.release()
}

// BoundVersion sets how long redis-server may take to tell its version.
func BoundVersion(d time.Duration) (undo func()) {
	was := versionWithin
	versionWithin = d
	return func() { versionWithin = was }
}

// ChecksOn are the checks of a cluster of several masters on some machine.
func (o Options) ChecksOn(m Machine, masters int) []Check { return o.withDefaults().checks(m, masters) }

// RedisFilesOn is how many files a node in a container may open.
func (o Options) RedisFilesOn(m Machine) int64 { return o.withDefaults().redisFiles(m) }
