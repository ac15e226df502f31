package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Library says how to run a variant whose algorithm is an unmodified library of another language. The zero value is no
// library.
type Library struct {
	Interpreters []string // interpreters; the first that passes Probe runs the adapter
	Probe        []string // arguments with which an interpreter says, by exit code 0, that it has the library
	Packages     string   // Debian packages with all that is needed
	File         string   // the adapter's file, in package adapters
	Args         []string // arguments of the adapter
}

var (
	pythons = []string{"python3", "/usr/bin/python3"} // the first in the PATH may lack packages that Debian's own has
	phps    = []string{"php"}
)

// foreignVariants lists the locks of other languages' libraries. They need what Library.Packages names.
func foreignVariants() []Variant {
	return []Variant{libRedisPyLock(), libRedisPyLockEndless(), libRQScheduler(), libRQSchedulerTwoQueues(),
		libToozLock(), libSymfonyLock(), libLaravelLock()}
}

// lib/redis-py-lock is redis-py's redis.lock.Lock, unmodified.
//
//	acquire  SET NX PX
//	extend   reacquire(), a script: GET, compare, PEXPIRE
//	release  script: GET, compare, DEL
func libRedisPyLock() Variant {
	return foreignLock("lib/redis-py-lock", canLock, redisPy(), Variant{
		Doc: "redis-py's Lock (Python), which tries once", Claim: OneNode,
		Flaws: []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// lib/redis-py-lock-endless is lib/redis-py-lock without a lease.
//
// Source: redis-py's issue 4279. reacquire() sends PEXPIRE 0, which deletes the lock, and returns True.
func libRedisPyLockEndless() Variant {
	return foreignLock("lib/redis-py-lock-endless", canLock, redisPy("timeout=0"), Variant{
		Doc: "redis-py's Lock(timeout=0) (Python); its reacquire() deletes the lock and returns True", Claim: Nothing,
		Flaws: []Flaw{{harness.DoubleGrant, Race}, {harness.StuckLock, Crash}, {harness.DoubleGrant, Failover},
			{harness.StuckLock, Failover}},
	})
}

func redisPy(args ...string) Library {
	return Library{Interpreters: pythons, Probe: []string{"-c", "import redis.lock"}, Packages: "python3-redis",
		File: "python/redis_py_lock.py", Args: args}
}

// lib/rq-scheduler-lock has the locks by which rq's schedulers share queues, unmodified.
//
//	acquire  SET NX EX, for the scheduler's interval plus a minute
//	extend   EXPIRE, whoever has the lock
//	release  DEL, whoever has the lock
func libRQScheduler() Variant {
	return foreignLock("lib/rq-scheduler-lock", canLock, rqScheduler(), Variant{
		Doc: "rq's scheduler (Python); heartbeat renews and release_locks deletes whatever is there", Claim: Nothing,
		Lease: rqLease,
		Flaws: []Flaw{
			{harness.DoubleGrant, LateRelease}, {harness.StolenRelease, LateRelease},
			{harness.SilentReacquire, LateExtend}, {harness.DoubleGrant, Failover},
		},
	})
}

// lib/rq-scheduler-two-queues is lib/rq-scheduler-lock with two queues for each scheduler. A scheduler that stops
// deletes the locks of both its queues, even a lock that another scheduler has.
func libRQSchedulerTwoQueues() Variant {
	return foreignLock("lib/rq-scheduler-two-queues", canLock, rqScheduler("two-queues"), Variant{
		Doc: "rq's schedulers (Python) of two queues; one that stops deletes locks that it never got", Claim: Nothing,
		Lease: rqLease, ExploredBriefly: true,
		Flaws: []Flaw{
			{harness.DoubleGrant, Race}, {harness.StolenRelease, LateRelease}, {harness.SilentReacquire, LateExtend},
			{harness.DoubleGrant, Failover},
		},
	})
}

// rqLease is the lease of an rq scheduler whose interval is 10 s: the interval plus a minute.
const rqLease = 70 * time.Second

func rqScheduler(args ...string) Library {
	return Library{Interpreters: pythons, Probe: []string{"-c", "import rq.scheduler"}, Packages: "python3-rq",
		File: "python/rq_scheduler.py", Args: args}
}

// lib/tooz-lock is the lock of OpenStack's tooz, unmodified. It takes redis-py's lock, and renews it by a heartbeat.
func libToozLock() Variant {
	return foreignLock("lib/tooz-lock", canLock, Library{
		Interpreters: pythons, Probe: []string{"-c", "import redis, tooz.drivers.redis"},
		Packages: "python3-tooz python3-redis", File: "python/tooz_lock.py",
	}, Variant{
		Doc: "tooz's lock on Redis (Python, OpenStack), which tries once", Claim: OneNode,
		// Its release retries by itself when the connection fails. By then redis-py's lock has forgotten its token, so
		// the answer is no.
		Flaws: []Flaw{{harness.RefusedRelease, Unanswered}, {harness.DoubleGrant, Failover}},
	})
}

// lib/symfony-lock is Symfony\Component\Lock\Store\RedisStore, unmodified. It keeps each lock as a sorted set and reads
// the client's clock often, so searches with more than two clients take long.
func libSymfonyLock() Variant {
	return foreignLock("lib/symfony-lock", canLock, Library{
		Interpreters: phps, Probe: []string{"-r", phpHas("Symfony/Component/Lock/autoload.php")},
		Packages: "php-cli php-redis php-symfony-lock",
		File:     "php/symfony_lock.php",
	}, Variant{
		Doc: "Symfony's lock on Redis (PHP), which tries once", Claim: OneNode, Explored: 2, ExploredBriefly: true,
		ExploredUncrashed: true,
		Flaws:             []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// lib/laravel-lock is Laravel's Cache::lock, unmodified.
//
//	acquire  SET NX EX
//	release  script: GET, compare, DEL
func libLaravelLock() Variant {
	return foreignLock("lib/laravel-lock", canLock[:2], Library{
		Interpreters: phps, Probe: []string{"-r",
			phpHas("Illuminate/Cache/autoload.php", "Illuminate/Redis/autoload.php")},
		Packages: "php-cli php-redis php-illuminate-cache php-illuminate-redis", File: "php/laravel_lock.php",
	}, Variant{
		Doc: "Laravel's cache lock on Redis (PHP), in whole seconds", Claim: OneNode,
		Flaws: []Flaw{{harness.DoubleGrant, Failover}},
	})
}

// phpHas returns a line of PHP that exits with 0 if the extension redis and the files are there.
func phpHas(files ...string) string {
	line := "exit(extension_loaded('redis')"
	for _, f := range files {
		line += " && stream_resolve_include_path('" + f + "')"
	}
	return line + " ? 0 : 1);"
}

// canLock lists what most adapters of locks can do, by the names of the protocol.
var canLock = []string{DoAcquire, DoRelease, DoExtend}

// foreignLock makes the variant of a library in another language. The variant cannot be run until RunBy gives it a
// runner.
func foreignLock(id string, can []string, l Library, v Variant) Variant {
	v.library, v.can = l, can
	v.Source = "the library, from Debian's " + l.Packages
	return lockVariant(id, func(redis.UniversalClient) Locker { return Adapter{Can: can}.locker(notRun{}) }, v)
}

// Library says how to run the variant, if it is a library of another language. It returns false for all other variants.
func (v Variant) Library() (Library, bool) { return v.library, v.library.File != "" }

// RunBy returns v, the variant of a library, with a runner for the library's adapter. The variant cannot be run without
// a runner.
func (v Variant) RunBy(runner AdapterRunner) Variant {
	c := Adapter{As: Lock, Name: v.ID, Command: []string{v.library.File}, Can: v.can, Symmetric: true}
	made, _ := c.variant(runner) // only an unknown family is an error
	v.newLocker, v.runner, v.program = made.newLocker, runner, made.program
	return v
}

// notRun is the lock of a library's variant that has no runner. Its operations return errNotRun.
type notRun struct{ Operations }

var errNotRun = errors.New("this variant is of a listing, and nothing runs its adapter")

func (notRun) Acquire(context.Context, string, string, time.Duration) (bool, error) {
	return false, errNotRun
}
func (notRun) Extend(context.Context, string, string, time.Duration) (bool, error) {
	return false, errNotRun
}
func (notRun) Release(context.Context, string, string) (bool, error) { return false, errNotRun }
