package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	redisPort    = 6379
	sentinelPort = 26379
	lockPort     = 6378 // held at 127.X.0.1 by the owner of X

	realPlane      = 1  // where nodes listen
	announcedPlane = 2  // where the fabric listens for them
	clientPlane    = 10 // where client groups dial from

	firstSubnet, lastSubnet = 10, 250
)

// subnet is one X of 127.X.0.0/16, owned for as long as its lock is held; the kernel gives it back when we die.
type subnet struct {
	x    int
	lock net.Listener
}

// claimSubnet takes a free X, trying from a random one on.
func claimSubnet() (subnet, error) {
	n := lastSubnet - firstSubnet + 1
	start := rand.IntN(n)
	var last error
	for i := range n {
		x := firstSubnet + (start+i)%n
		ln, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.1:%d", x, lockPort))
		if err == nil {
			return subnet{x: x, lock: ln}, nil
		}
		last = err
	}
	return subnet{}, fmt.Errorf("cluster: %w: none of 127.%d.0.1 to 127.%d.0.1 can be listened on (all of 127.0.0.0/8 must be local, as on Linux): %w",
		ErrLimit, firstSubnet, lastSubnet, last)
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
