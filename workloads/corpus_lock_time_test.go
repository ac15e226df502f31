package workloads_test

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// timelyLocks lists locks on which the explorer once gave the wrong verdict, mostly because of its clock: locks with
// goroutines and timers of their own, with short sleeps, and with leases of days.
func timelyLocks() []algorithm {
	return []algorithm{
		codeLock("timer-deletes", "a timer of the client's own deletes the lock after a third of the lease", acquiring(
			func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool, error) {
				ok, err := r.SetNX(ctx, key, owner, ttl).Result()
				if ok {
					time.AfterFunc(ttl/3, func() { r.Del(context.Background(), key) })
				}
				return ok, err
				// it goes off after the search
			})).leased(time.Hour).says(cannot("time.AfterFunc at corpus_lock_time_test.go"), finds()),
		codeLock("deleted-after-days", "a release deletes whatever is there, of a lease of a day",
			deletesByAnybody).leased(24*time.Hour).steps(5).says(
			finds(harness.StolenRelease, harness.DoubleGrant), finds()),
		codeLock("extend-without-a-pause", "as extend-in-two-steps, without the pause",
			getCompareExtend(0)).of(2).steps(6).says(
			finds(harness.DoubleGrant, harness.SilentReacquire, harness.RefusedRelease),
			misses("the lease has to end between two commands")),
		codeLock("three-naps",
			"takes half of the lease, then naps three times, together for nine tenths of it, in one client", acquiring(
				func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool, error) {
					ok, err := r.SetNX(ctx, key, owner, ttl/2).Result()
					if owner != "client-1" {
						return ok, err
					}
					for range 3 {
						if err := harness.Sleep(ctx, ttl*3/10); err != nil || !ok {
							return false, err
						}
					}
					return ok, err
				})).of(2).says(finds(harness.DoubleGrant), finds()),
		codeLock("connection-name",
			"CLIENT SETNAME, unless CLIENT LIST shows that name: two callers may both find nothing",
			namedConnectionLock).of(2).says(
			finds(harness.DoubleGrant), finds()),

		codeLock("watchdog", "a goroutine of its own renews the lease until the release",
			watchdogLock(sleepsForReal)).says(
			cannot("corpus_lock_time_test.go"), holds),
		codeLock("sleeping-watchdog", "as watchdog, but it sleeps in the schedule's time",
			watchdogLock(harness.Sleep)).says(cannot(""), holds),
		codeLock("end-by-the-clients-clock", "SET NX PXAT by the client's clock", acquiring(
			func(ctx context.Context, r redis.UniversalClient, key, owner string, ttl time.Duration) (bool, error) {
				err := r.Do(ctx, "SET", key, owner, "NX", "PXAT", harness.Now(ctx).Add(ttl).UnixMilli()+1).Err()
				return err == nil, ignoreNil(err)
			})),
	}
}

func sleepsForReal(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchdogLock renews its owner's lease in a goroutine, until the release.
func watchdogLock(sleep func(context.Context, time.Duration) error) func(redis.UniversalClient) workloads.Locker {
	return func(r redis.UniversalClient) workloads.Locker {
		stop := map[string]context.CancelFunc{}
		give := scripted(r, releaseGet)
		return goLock{func(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
			ok, err := r.SetNX(ctx, key, owner, ttl).Result()
			if !ok {
				return false, err
			}
			ctx, stop[owner] = context.WithCancel(context.WithoutCancel(ctx))
			go func() {
				for sleep(ctx, ttl/3) == nil && r.PExpire(ctx, key, ttl).Err() == nil {
				}
			}()
			return true, nil
		}, func(ctx context.Context, key, owner string, _ time.Duration) (bool, error) {
			if cancel := stop[owner]; cancel != nil {
				cancel()
			}
			return give(ctx, key, owner, 0)
		}}
	}
}

// namedConnectionLock gives its connection the lock's name, unless some connection has that name.
func namedConnectionLock(r redis.UniversalClient) workloads.Locker {
	return goLock{func(ctx context.Context, key, _ string, _ time.Duration) (bool, error) {
		list, err := r.ClientList(ctx).Result()
		if err != nil || strings.Contains(list, "name="+key+" ") {
			return false, err
		}
		return true, r.Do(ctx, "CLIENT", "SETNAME", key).Err()
	}, func(ctx context.Context, _, _ string, _ time.Duration) (bool, error) {
		return true, r.Do(ctx, "CLIENT", "SETNAME", "").Err()
	}}
}
