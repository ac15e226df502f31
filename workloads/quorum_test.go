package workloads

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
)

func TestRedlockIsImpatient(t *testing.T) {
	_, r := realRedis(t)
	l := newRedlock([]redis.UniversalClient{r}).(*redlockLock)
	for ttl, want := range map[time.Duration]time.Duration{
		10 * time.Second:       50 * time.Millisecond,
		400 * time.Millisecond: 20 * time.Millisecond,
		time.Millisecond:       5 * time.Millisecond,
	} {
		_, _ = l.Acquire(t.Context(), "k", "a", ttl)
		require.Equal(t, want, l.timeout, ttl)
	}
}

func TestAQuorumLockTakesAllMastersAndGivesThemBack(t *testing.T) {
	eachQuorum(t, cluster.Options{}, func(t *testing.T, v Variant, m *masters) {
		a, b := m.client(0), m.client(1)
		began := time.Now()
		require.Equal(t, harness.OK, m.try(a.acquire, "a").Outcome)
		require.Equal(t, []string{"a", "a", "a", "a", "a"}, m.holders())
		require.Equal(t, harness.Held, m.try(b.acquire, "b").Err)
		m.wholeSince(began)
		m.onEach(m.RedisNodes(), "PEXPIRE", "k", "5000")
		began = time.Now()
		require.Equal(t, harness.OK, m.try(a.extend, "a").Outcome)
		require.Equal(t, harness.Fail, m.try(b.extend, "b").Outcome)
		m.wholeSince(began)
		require.Equal(t, harness.OK, m.try(a.release, "a").Outcome)
		require.Equal(t, []string{"-", "-", "-", "-", "-"}, m.holders())
		require.Equal(t, harness.Fail, m.try(a.release, "a").Outcome)
	})
}

func TestWithoutAMajorityWhatWasTakenIsGivenBack(t *testing.T) {
	eachQuorum(t, cluster.Options{}, func(t *testing.T, v Variant, m *masters) {
		m.kill("r1", "r2", "r4")
		a := m.client(0)
		require.Equal(t, errGivenBack.Error(), m.try(a.acquire, "a").Err, "nobody else has it")
		require.Equal(t, []string{"down", "down", "-", "down", "-"}, m.holders())
		m.kill("r3", "r5")
		op := m.try(m.client(1).acquire, "b")
		require.Equal(t, harness.Fail, op.Outcome, "%s", op.Err)
	})
}

// A refusal is uncertain if a paused master did not answer: the SET waits in its socket.
func TestAMasterThatDoesNotAnswerMakesARefusalUncertain(t *testing.T) {
	eachQuorum(t, cluster.Options{}, func(t *testing.T, v Variant, m *masters) {
		a, b := m.client(0), m.client(1)
		for _, c := range []*lockClient{a, b} { // each has connections to all masters
			require.Equal(t, harness.OK, m.try(c.acquire, "x").Outcome)
			require.Equal(t, harness.OK, m.try(c.release, "x").Outcome)
		}
		require.NoError(t, m.Pause(t.Context(), "r5"))
		require.Equal(t, harness.OK, m.try(a.acquire, "a").Outcome)
		op := m.try(b.acquire, "b")
		require.Equal(t, harness.Info, op.Outcome, "b's SET may still be executed by r5")
		require.Equal(t, errInDoubt.Error(), op.Err)
		require.NoError(t, m.Resume("r5"))
	})
}

// The owner was granted the lock by three of five masters, since two were down. The two come back. If one of the three
// then forgets the lock, there are two owners.
func TestAMasterThatForgetsMakesTwoOwners(t *testing.T) {
	restart := func(m *masters, node string) { m.kill(node); m.restart(node) }
	for name, c := range map[string]struct {
		aof     cluster.AOF
		strike  func(m *masters, node string)
		forgets bool
	}{
		"restart without data":  {"", restart, true},
		"restart with its file": {cluster.AOFAlways, restart, false},
		// The effect of a clock that steps forward, on one key. cluster.Options.Clocks does it to a whole node.
		"a lease that ends early": {"", func(m *masters,
			node string) {
			m.onEach([]string{node}, "PEXPIREAT", "k", "1")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			eachQuorum(t, cluster.Options{AOF: c.aof}, func(t *testing.T, v Variant, m *masters) {
				m.kill("r4", "r5")
				a, b := m.client(0), m.client(1)
				began := time.Now()
				require.Equal(t, harness.OK, m.try(a.acquire, "a").Outcome)
				m.restart("r4", "r5")
				m.reach(1)
				require.Equal(t, errGivenBack.Error(), m.try(b.acquire, "b").Err, "two free masters are no majority")
				require.Equal(t, []string{"a", "a", "a", "-", "-"}, m.holders())
				c.strike(m, "r3")
				m.reach(1)
				if !c.forgets {
					require.Equal(t, harness.Fail, m.try(b.acquire, "b").Outcome)
					require.Equal(t, []string{"a", "a", "a", "-", "-"}, m.holders())
					return
				}
				require.Equal(t, harness.OK, m.try(b.acquire, "b").Outcome)
				require.Equal(t, []string{"a", "a", "b", "b", "b"}, m.holders())
				require.Less(t, time.Since(began), quorumTTL*9/10, "a's lease is over")
			})
		})
	}
}

func TestALockThatCameTooLateIsGivenBack(t *testing.T) {
	c := clustertest.Start(t, cluster.Masters(5, cluster.Options{}))
	m := &masters{T: t, Cluster: c, pool: newPool(c), v: quorumVariants()[0]}
	slow := &lockClient{lock: m.client(0).lock, opts: Options{TTL: 10 * time.Second}}
	clock := &stepping{now: time.Now(), by: 9890 * time.Millisecond}
	op := slow.acquire(harness.WithTime(t.Context(), clock), (&lockTime{}).session(0), "k", "a")
	require.Equal(t, harness.OK, op.Outcome, "8 ms of 10 s are left")
	require.NoError(t, slow.lock.(*redlockLock).deleteAll(t.Context(), "k", "a").err)

	clock.by = 9898 * time.Millisecond
	op = slow.acquire(harness.WithTime(t.Context(), clock), (&lockTime{}).session(0), "k", "b")
	require.Equal(t, errGivenBack.Error(), op.Err)
	require.Equal(t, []string{"-", "-", "-", "-", "-"}, m.holders())
}

// stepping is a clock that jumps ahead by the same amount at each reading.
type stepping struct {
	now time.Time
	by  time.Duration
}

func (s *stepping) Now() time.Time {
	s.now = s.now.Add(s.by)
	return s.now
}
func (*stepping) Sleep(context.Context, time.Duration) error { return nil }

func TestAnExtensionInPartIsUncertain(t *testing.T) {
	eachQuorum(t, cluster.Options{}, func(t *testing.T, v Variant, m *masters) {
		a := m.client(0)
		require.Equal(t, harness.OK, m.try(a.acquire, "a").Outcome)
		m.onEach([]string{"r1", "r2", "r3"}, "DEL", "k")
		require.Equal(t, harness.Info, m.try(a.extend, "a").Outcome, "two masters renewed it")
		require.Equal(t, harness.NotMine, m.try(a.release, "a").Err)
		require.Equal(t, []string{"-", "-", "-", "-", "-"}, m.holders())
	})
}

func TestWhatAnOperationLeftOnEachMaster(t *testing.T) {
	type event struct {
		master int
		ran    bool
		err    error
	}
	timeout := &net.OpError{Op: "read", Err: context.DeadlineExceeded}
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		events []event
		doubt  bool
	}{
		"nothing was sent": {},
		"one master":       {[]event{{0, true, timeout}}, false},
		"all answered": {[]event{{1, true, nil}, {2, true, redis.Nil}, {1, true, nil}},
			false},
		"one is down": {[]event{{1, true, nil}, {2, false, dial}, {2, false, dial}},
			false},
		"a SET without an answer":                   {[]event{{1, true, nil}, {2, true, timeout}}, true},
		"a DEL that was answered after it":          {[]event{{2, true, timeout}, {2, true, nil}}, true},
		"a DEL that was not sent":                   {[]event{{1, true, nil}, {1, false, dial}}, true},
		"a DEL that came through at the second try": {[]event{{1, true, nil}, {1, false, dial}, {1, true, nil}}, false},
		"a DEL without an answer":                   {[]event{{1, true, nil}, {1, true, io.EOF}}, true},
	} {
		var l ballot
		for _, e := range c.events {
			l.note(e.master, e.ran, e.err)
		}
		var op harness.Op
		require.Equal(t, c.doubt, l.markInDoubt(&op, nil), name)
		require.Equal(t, c.doubt, l.markInDoubt(&op, errors.Join(errGivenBack, timeout)), name)
		require.False(t, l.markInDoubt(&op, timeout), name)
	}
}

func TestAQuorumIsTracedBesideAnotherWorkloadOfItsFirstMaster(t *testing.T) {
	c := clustertest.Start(t, cluster.Masters(5, cluster.Options{}))
	_, err := newPool(c).client(0) // not one of the quorum's
	require.NoError(t, err)
	all, err := newPool(c).masters(0)
	require.NoError(t, err)
	ctx, call := withCall(t.Context())
	for _, r := range all {
		require.NoError(t, r.Set(ctx, "k", "v", 0).Err())
	}
	require.Equal(t, map[int]masterState{1: masterKnown, 2: masterKnown, 3: masterKnown, 4: masterKnown,
		5: masterKnown}, call.masters.states)
	require.NoError(t, c.Kill("r1"))
	require.Error(t, all[0].Set(ctx, "k", "v", 0).Err())
	require.NotEqual(t, masterKnown, call.masters.states[1])
}

func TestVotes(t *testing.T) {
	for _, c := range []struct {
		all, yes, no      int
		carried, rejected bool
	}{
		{5, 3, 0, true, false}, {5, 2, 2, false, false}, {5, 2, 3, false, true}, {5, 0, 2, false, false},
		{4, 2, 1, false, false}, {4, 2, 2, false, true}, {4, 3, 1, true, false}, {1, 1, 0, true, false},
		{1, 0, 1, false, true},
		{0, 0, 0, false, true}, // no masters means nobody can grant it
	} {
		v := votes{all: c.all, yes: c.yes, no: c.no}
		require.Equal(t, c.carried, v.majorityYes(), "%+v", c)
		require.Equal(t, c.rejected, v.majorityNo(), "%+v", c)
	}
}

func TestAQuorumLockSaysHowManyMastersItNeeds(t *testing.T) {
	c, _ := realRedis(t)
	for _, v := range quorumVariants() {
		_, err := v.Workload(c, Options{}).Open(t.Context(), 0)
		require.ErrorContains(t, err, v.ID+": there is 1 master, and it needs 3: use a topology such as masters:5")
		_, err = v.Workload(oneRedis{c}, Options{}).Open(t.Context(), 0)
		require.ErrorContains(t, err, v.ID+": the system has one master")
		_, ok := v.Program(Options{})
		require.False(t, ok, "the explorer has one master")
	}
}

// oneRedis is a Connector that cannot connect to several masters.
type oneRedis struct{ c Connector }

func (o oneRedis) Connect(group int) (redis.UniversalClient, error) { return o.c.Connect(group) }
