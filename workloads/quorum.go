package workloads

import (
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// QuorumConnector is a Connector to several independent masters; harness/cluster has one.
type QuorumConnector interface {
	Connector
	// ConnectAll returns a group's clients, one for each master, in the same order for all groups. The first is the one
	// that Connect returns.
	ConnectAll(group int) ([]redis.UniversalClient, error)
}

// quorumLocks is [Locks] for a lock that asks several masters, and needs at least minMasters. The function newLocker
// gets a client for each master. The Locker answers for all masters together.
//
// A no counts as a fail only if it is known what the operation left on every master: the last command to the master was
// answered, or no command can have been executed there. Otherwise the no counts as info. A SET that got no answer, or
// whose DEL got none, may have left a key that keeps others out until its lease is over.
func quorumLocks(
	c Connector, o Options, newLocker func([]redis.UniversalClient) Locker, minMasters int,
) harness.Workload {
	l := Locks(c, o, nil).(*locks)
	l.newQuorum, l.minMasters = newLocker, minMasters
	return l
}

// locker makes the lock of a client in the given client group.
func (l *locks) locker(group int) (Locker, error) {
	if l.newQuorum == nil {
		r, err := l.pool.client(group)
		if err != nil {
			return nil, err
		}
		return l.newLocker(r), nil
	}
	all, err := l.pool.masters(group)
	if err == nil && len(all) < l.minMasters {
		err = fmt.Errorf("there is %d master, and it needs %d: use a topology such as masters:5", len(all),
			l.minMasters)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.opts.Name, err)
	}
	return l.newQuorum(all), nil
}

// ballot notes for each of several masters what one operation may have left there. The operation's commands may run
// concurrently.
type ballot struct {
	mu     sync.Mutex
	states map[int]masterState // states by number of the master
}

// masterState says what is known about a master on which some command may have been executed.
type masterState int

const (
	masterKnown    masterState = iota + 1 // the last command was answered, so the algorithm knows what it left there
	masterOutdated                        // a command was answered, but a later one was not executed
	masterUnknown                         // a command without an answer may have been executed
)

// note records a command to a master: whether the command may have run, and its error.
func (l *ballot) note(master int, ran bool, err error) {
	if master == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.states == nil {
		l.states = map[int]masterState{}
	}
	switch was := l.states[master]; {
	case was == masterUnknown:
	case ran && (err == nil || errors.Is(err, redis.Nil)):
		l.states[master] = masterKnown
	case ran:
		l.states[master] = masterUnknown
	case was == masterKnown:
		l.states[master] = masterOutdated
	}
}

// errInDoubt is the reason of an operation that ended without success and may have left something on a master.
var errInDoubt = errors.New("not known to every master")

// markInDoubt decides the outcome of an operation that ended with a no, or in errGivenBack. If the operation may have
// left something on a master, unknown to the algorithm, markInDoubt sets the outcome to info and returns true.
func (l *ballot) markInDoubt(op *harness.Op, err error) bool {
	if err != nil && !errors.Is(err, errGivenBack) {
		return false // the error decides the outcome
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.states {
		if s != masterKnown {
			op.Outcome, op.Err = harness.Info, errInDoubt.Error()
			return true
		}
	}
	return false
}

// votes counts the answers of several masters.
type votes struct {
	all, yes, no int
	err          error // errors of the masters that said neither yes nor no
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

// majorityYes reports whether a majority said yes. majorityNo reports whether so many masters said no that the other
// masters are not a majority.
func (v *votes) majorityYes() bool { return v.yes >= v.all/2+1 }
func (v *votes) majorityNo() bool  { return v.no > v.all-(v.all/2+1) }
