package workloads

import (
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// QuorumConnector is a Connector that leads to several masters, which know nothing of each other; harness/cluster has
// one.
type QuorumConnector interface {
	Connector
	// ConnectAll hands out a group's clients, one for each master, in the same order to all groups. The first is the one
	// of Connect.
	ConnectAll(group int) ([]redis.UniversalClient, error)
}

// QuorumLocks is [Locks] for a lock that asks several masters. newLocker gets one client for each. The Locker's answer is
// that of all masters together.
//
// When the answer is no, the operation counts as a fail only if it is known what it left on every master: the last
// command to each was answered, or none can have been executed there. A SET that was not answered, or whose DEL was not,
// makes it info: the key may be in the way of others until its lease is over.
func QuorumLocks(c QuorumConnector, o LockOptions, newLocker func([]redis.UniversalClient) Locker) harness.Workload {
	return quorumLocks(c, o, quorum{newQuorum: newLocker, least: 1})
}

func quorumLocks(c Connector, o LockOptions, q quorum) harness.Workload {
	l := Locks(c, o, nil).(*locks)
	l.quorum = q
	return l
}

// quorum holds the constructor of a lock on several masters. The zero value stands for a lock on one.
type quorum struct {
	newQuorum func([]redis.UniversalClient) Locker
	least     int // masters
}

// locker makes the lock of a client in that group.
func (l *locks) locker(group int) (Locker, error) {
	if l.newQuorum == nil {
		r, err := l.pool.client(group)
		if err != nil {
			return nil, err
		}
		return l.newLocker(r), nil
	}
	all, err := l.pool.masters(group)
	if err == nil && len(all) < l.least {
		err = fmt.Errorf("there is %d master, and it needs %d: use a topology such as masters:5", len(all), l.least)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.opts.Name, err)
	}
	return l.newQuorum(all), nil
}

// ballot notes what one operation may have left on each of several masters. The operation's commands may run side by side.
type ballot struct {
	mu sync.Mutex
	on map[int]masterState // by master
}

// masterState says what is known about one master on which some command may have been executed.
type masterState int

const (
	known masterState = iota + 1 // the last command was answered: the algorithm knows what it left there
	stale                        // the same, but a later command was not executed
	lost                         // a command may have been executed that was not answered
)

// note records a command to a master: whether it may have run, and its error.
func (l *ballot) note(master int, ran bool, err error) {
	if master == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on == nil {
		l.on = map[int]masterState{}
	}
	switch was := l.on[master]; {
	case was == lost:
	case ran && (err == nil || errors.Is(err, redis.Nil)):
		l.on[master] = known
	case ran:
		l.on[master] = lost
	case was == known:
		l.on[master] = stale
	}
}

// errInDoubt is the error of an operation that failed on the masters together, and may have left something on one of them.
var errInDoubt = errors.New("not known to every master")

// doubtful sets op to info, and reports true, if it ended with a no or in errGivenBack and may have left something on a
// master without its algorithm's knowledge.
func (l *ballot) doubtful(op *harness.Op, err error) bool {
	if err != nil && !errors.Is(err, errGivenBack) {
		return false // settled by the error
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.on {
		if s != known {
			op.Outcome, op.Err = harness.Info, errInDoubt.Error()
			return true
		}
	}
	return false
}

// votes counts the answers of several masters.
type votes struct {
	all, yes, no int
	err          error // of the masters that said neither
}

// cast adds one master's answer.
func (v *votes) cast(yes bool, err error) {
	v.all++
	switch {
	case err != nil:
		v.err = errors.Join(v.err, err)
	case yes:
		v.yes++
	default:
		v.no++
	}
}

// majorityYes reports whether a majority said yes; rejected, whether so many said no that none could.
func (v *votes) majorityYes() bool { return v.yes >= v.all/2+1 }
func (v *votes) majorityNo() bool  { return v.no > v.all-(v.all/2+1) }
