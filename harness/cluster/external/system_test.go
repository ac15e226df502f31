package external_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/clients/clientstest"
	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/workloads"
)

// leastRules are the README's ACL rules: what a run needs, and no more.
const leastRules = "resetchannels ~doublegrant:* -@all +hello +auth +ping +select +@transaction +@string +@set " +
	"+@hash +@list +@sortedset " +
	"+del +unlink +exists +expire +pexpire +persist +ttl +pttl +type +eval +evalsha +script|load +scan -@dangerous"

// record holds what a system reports.
type record struct {
	mu     sync.Mutex
	events []harness.Event
	notes  []string
	errs   []error
}

func (r *record) event(e harness.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}
func (r *record) note(s string)     { r.mu.Lock(); defer r.mu.Unlock(); r.notes = append(r.notes, s) }
func (r *record) notSent(err error) { r.mu.Lock(); defer r.mu.Unlock(); r.errs = append(r.errs, err) }

func (r *record) has(kind, node, detail string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events,
		func(e harness.Event) bool { return e.Kind == kind && e.Node == node && e.Detail == detail })
}

func system(t *testing.T, d *clientstest.Deployment, r *record) *external.System {
	t.Helper()
	to, err := external.Parse(d.URL())
	require.NoError(t, err)
	if d.TLS != nil {
		to, err = to.WithTLS(d.TLS.CA, d.TLS.Certificate, d.TLS.Key)
		require.NoError(t, err)
	}
	return external.New(to, external.Options{Note: r.note, OnNotSent: r.notSent})
}

func start(t *testing.T, s *external.System, r *record) {
	t.Helper()
	t.Cleanup(func() { _ = s.Stop() })
	require.NoError(t, s.Start(t.Context(), harness.NewClock(), r.event, slog.New(slog.DiscardHandler)))
}

// started starts a system on a deployment, and returns what it reports, and the client of a group.
func started(t *testing.T, d *clientstest.Deployment) (s *external.System, r *record, c redis.UniversalClient) {
	t.Helper()
	r = &record{}
	s = system(t, d, r)
	start(t, s, r)
	c, err := s.Connect(0)
	require.NoError(t, err)
	return s, r, c
}

func TestWhatARunLeaves(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{Rules: leastRules, TLS: true})
	admin := d.Admin[0]
	require.NoError(t, admin.Set(t.Context(), "bystander", "stays", 0).Err())
	require.NoError(t, admin.Set(t.Context(), "doublegrant:other:lock-0", "stays", 0).Err())
	r := &record{}
	s := system(t, d, r)
	require.NoError(t, s.Preflight(t.Context()))
	require.NoError(t, s.Preflight(t.Context()), "a second time")
	start(t, s, r)
	require.Regexp(t, "^doublegrant:[0-9a-f]{16}:$", s.Prefix())
	c, err := s.Connect(2)
	require.NoError(t, err)
	for i := range 1200 { // more than one SCAN returns
		require.NoError(t, c.Set(t.Context(), fmt.Sprintf("%skey-%d", s.Prefix(), i), "v", 0).Err())
	}
	heal, err := s.Impair(harness.Between([]string{"g2"}, []string{"r1"}), harness.Withhold())
	require.NoError(t, err)
	require.Error(t, s.Probe(t.Context(), "g2", "r1"))
	require.NoError(t, s.AwaitWhole(t.Context()), "our own look goes past the links")
	require.NoError(t, heal())
	require.EqualValues(t, 1202, admin.DBSize(t.Context()).Val())
	require.Eventually(t, func() bool { return r.has(harness.EventRole, "r1", harness.RolePrimary) }, time.Minute,
		time.Millisecond)
	require.True(t, r.has(harness.EventServesWrites, "r1", "g2"))
	require.NoError(t, s.Stop())
	require.NoError(t, s.Stop(), "a second time")
	require.EqualValues(t, 2, admin.DBSize(t.Context()).Val(), "keys of the run are left, or others are gone")
	require.Empty(t, r.notes)
	require.NotEqual(t, s.Prefix(), external.NewPrefix())
}

func TestWhatMustNotBeSentIsNot(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{}) // whose ACL would allow it
	require.NoError(t, d.Admin[0].Set(t.Context(), "bystander", "stays", 0).Err())
	s, r, c := started(t, d)
	require.ErrorIs(t, c.FlushAll(t.Context()).Err(), external.ErrNotSent)
	require.ErrorIs(t, c.Del(t.Context(), "bystander").Err(), external.ErrNotSent)
	require.Len(t, r.errs, 1, "it is told once")
	require.NoError(t, c.Set(t.Context(), s.Prefix()+"k", "v", 0).Err())
	require.ErrorIs(t, s.Stop(), external.ErrNotSent)
	require.Equal(t, "stays", d.Admin[0].Get(t.Context(), "bystander").Val())
	require.EqualValues(t, 1, d.Admin[0].DBSize(t.Context()).Val())
}

func TestKeysThatCannotBeRemovedAreTold(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{Rules: strings.ReplaceAll(leastRules, "+scan", "")})
	s, r, c := started(t, d)
	require.NoError(t, c.Set(t.Context(), s.Prefix()+"k", "v", 0).Err())
	require.NoError(t, s.Stop())
	require.Len(t, r.notes, 1)
	require.Contains(t, r.notes[0], "keys that begin with "+s.Prefix()+" may be left")
	require.Contains(t, r.notes[0], "NOPERM")
	require.NotContains(t, r.notes[0], "canary")
	require.EqualValues(t, 1, d.Admin[0].DBSize(t.Context()).Val())
}

func TestAFailoverOfTheirs(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{Rules: leastRules, TLS: true, Replicas: 1, Sentinels: 3})
	s, r, c := started(t, d)
	require.Equal(t, []string{"r1", "r2"}, s.RedisNodes())
	require.Equal(t, []string{"s1", "s2", "s3"}, s.Sentinels())
	primary, err := s.Primary(t.Context())
	require.NoError(t, err)
	require.Equal(t, "r1", primary)
	require.NoError(t, c.Set(t.Context(), s.Prefix()+"k", "v", 0).Err())

	require.NoError(t, d.Kill("r1"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	promoted, err := s.AwaitPromotion(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, "r2", promoted)
	require.NoError(t, s.AwaitWhole(ctx))
	require.Eventually(t, func() bool { return c.Set(ctx, s.Prefix()+"k", "v", 0).Err() == nil }, time.Minute,
		20*time.Millisecond)
	require.Eventually(t, func() bool {
		return r.has(harness.EventServesWrites, "r2", "g0") && r.has(harness.EventRole, "r1", harness.RoleDown)
	}, time.Minute, 20*time.Millisecond)
	require.True(t, r.has(harness.EventAnswers, "r2", "g0"))
	require.True(t, r.has(harness.EventRolesEvery, "r2", "250ms"))
	require.NoError(t, s.Stop())
	require.EqualValues(t, 0, d.Admin[1].DBSize(t.Context()).Val())
}

// TestEveryVariantKeepsToItsPrefix runs, on a Redis without restrictions, every variant that a plan allows on an
// external Redis.
func TestEveryVariantKeepsToItsPrefix(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{})
	ran := 0
	for _, v := range workloads.Catalogue() {
		if _, library := v.Library(); library || v.Masters > 0 || v.OneKey || v.OwnKeys {
			continue
		}
		if v.ID == "lock/watchdog-rearms" { // its purpose is a data race, which the race detector finds
			continue
		}
		ran++
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			r := &record{}
			s := system(t, d, r)
			o := workloads.Options{Prefix: s.Prefix(), TTL: 100 * time.Millisecond, Keys: 2}
			if v.Family != workloads.Lock && v.Family != workloads.Dedup {
				o.TTL = 0
			}
			o.Rounds = workloads.RoundsOptions{Rounds: 3, Every: 50 * time.Millisecond, Lock: true, Clients: 4}
			w := v.Workload(s, o)
			res, err := harness.Run(t.Context(), harness.Spec{
				System: s, Workload: w, Checkers: checkers.For(w), Clients: 4, Duration: 400 * time.Millisecond,
				Rate: 500, QuietPeriod: time.Millisecond,
			})
			require.NoError(t, err)
			require.Empty(t, r.errs)
			n := 0
			for op, err := range res.History.Ops {
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(op.Key, s.Prefix()), "%s %s", op.Kind, op.Key)
				n++
			}
			require.Positive(t, n)
		})
	}
	require.Greater(t, ran, 30)
	t.Cleanup(func() { require.EqualValues(t, 0, d.Admin[0].DBSize(context.Background()).Val(), "keys are left") })
}

func TestWhoCannotBeRunOn(t *testing.T) {
	d := clientstest.Start(t, clientstest.Options{Rules: leastRules, Replicas: 1})
	secured := clientstest.Start(t, clientstest.Options{TLS: true})
	address := d.Nodes[0].Announced
	stranger, err := clientstest.CA()
	require.NoError(t, err)
	preflight := func(url, ca string) error {
		to, err := external.Parse(url)
		require.NoError(t, err)
		to, err = to.WithTLS(ca, "", "")
		require.NoError(t, err)
		return external.New(to, external.Options{}).Preflight(t.Context())
	}
	for want, url := range map[string]string{
		"refused":                "redis://canary-user:canary-password@127.0.0.1:1",
		"no such host":           "redis://canary.invalid",
		"the URL of the primary": "redis://canary-user:canary-password@" + d.Nodes[1].Announced,
		"7.0 or newer is needed": "redis://" + fakeRedis(t, "6.2.14", "standalone"),
		"Redis Cluster":          "redis://" + fakeRedis(t, "7.2.4", "cluster"),
		"redis+sentinel://":      "redis://" + fakeRedis(t, "7.2.4", "sentinel"),
		"no Sentinel says":       "redis+sentinel://" + address + "/canary",
	} {
		err := preflight(url, "")
		require.ErrorContains(t, err, want)
		for _, secret := range []string{"canary", "127.0.0.1"} {
			require.NotContains(t, err.Error(), secret, want)
		}
		require.NotContains(t, err.Error(), "\n")
	}
	err = preflight("rediss://"+secured.Nodes[0].Announced, stranger)
	require.ErrorContains(t, err, "not trusted")
	require.NotContains(t, err.Error(), "127.0.0.1")
}

// fakeRedis answers HELLO as a server of that version and mode would, and returns its address.
func fakeRedis(t *testing.T, version, mode string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	says := fmt.Sprintf("*8\r\n+server\r\n+redis\r\n+version\r\n+%s\r\n+mode\r\n+%s\r\n+role\r\n+master\r\n", version,
		mode)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					if strings.EqualFold(in.Text(), "HELLO") {
						_, _ = io.WriteString(conn, says)
					}
				}
			}()
		}
	}()
	return ln.Addr().String()
}
