package explore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// tokenLock is a lock whose value, key and release may depend on the owner. The zero value is a correct lock.
type tokenLock struct {
	redis   redis.UniversalClient
	value   func(owner string) string // default: the owner
	key     func(key, owner string) string
	seizes  func(owner, holder string) bool // whether the owner takes the lock from its holder
	blindly func(owner string) bool         // whether the owner's release is a bare DEL
	byName  bool                            // a release compares with the owner's name, whatever value was set
	lets    string                          // Lua condition of a release: v is the lock's value, ARGV[1] the owner's
	counts  func(owner string) string       // key of a counter that an acquire increments; nil: none
	marks   func(owner string) string       // further key that an acquire sets, for the same time; nil: none
	looks   bool                            // a release reads the lock's TTL first
	mine    map[string]string               // values by owner, since they may be random
}

func (l *tokenLock) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	value := owner
	if l.value != nil {
		value = l.value(owner)
	}
	l.mine[owner] = value
	if l.counts != nil {
		if err := l.redis.Incr(ctx, l.counts(owner)).Err(); err != nil {
			return false, err
		}
	}
	if l.marks != nil {
		if err := l.redis.Set(ctx, l.marks(owner), "here", ttl).Err(); err != nil {
			return false, err
		}
	}
	if l.key != nil {
		key = l.key(key, owner)
	}
	got, err := l.redis.SetNX(ctx, key, value, ttl).Result()
	if got || err != nil || l.seizes == nil {
		return got, err
	}
	holder, err := l.redis.Get(ctx, key).Result()
	if err != nil || !l.seizes(owner, holder) {
		return false, ignoring(err, redis.Nil)
	}
	return true, l.redis.Set(ctx, key, value, ttl).Err()
}

var deletesOwn = redis.NewScript("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) " +
	"end return 0")

func (l *tokenLock) Release(ctx context.Context, key, owner string) (bool, error) {
	if l.key != nil {
		key = l.key(key, owner)
	}
	if l.blindly != nil && l.blindly(owner) {
		n, err := l.redis.Del(ctx, key).Result()
		return n == 1, err
	}
	if l.looks {
		if err := l.redis.PTTL(ctx, key).Err(); err != nil {
			return false, err
		}
	}
	value := l.mine[owner]
	if l.byName {
		value = owner
	}
	if l.lets != "" {
		deletes := redis.NewScript("local v = redis.call('get', KEYS[1]) if v and " + l.lets +
			" then return redis.call('del', KEYS[1]) end return 0")
		n, err := deletes.Run(ctx, l.redis, []string{key}, value).Int()
		return n == 1, err
	}
	n, err := deletesOwn.Run(ctx, l.redis, []string{key}, value).Int()
	return n == 1, err
}

// symmetricSpec returns the search of a lock that promises to compare names only for equality.
func symmetricSpec(l tokenLock) Spec {
	p := workloads.LockProgram(workloads.Options{Name: "names"}, func(r redis.UniversalClient) workloads.Locker {
		l := l
		l.redis, l.mine = r, map[string]string{}
		return &l
	})
	p.Symmetric, p.NoBackgroundWork = true, true
	s := quiet(p, checkers.ForSearch(p.Kinds...)...)
	s.Clients, s.Expiries = 3, 1
	return s
}

func strictPrefix(owner, holder string) bool {
	return holder != owner && strings.HasPrefix(holder, owner)
}

// brokenPromise returns what a result says about clients that are not interchangeable; empty: nothing.
func brokenPromise(res interleave.Result) string {
	for _, limit := range res.Limits {
		if strings.HasPrefix(limit, "the promise that clients differ in their names only") {
			return limit
		}
	}
	return ""
}

// If clients are not interchangeable as promised, a search has the same result as without the promise.
func TestClientsThatAreNotAlikeAreSearchedInEveryOrder(t *testing.T) {
	const special = "client-12" // the second client
	for name, l := range map[string]tokenLock{
		"one client releases blindly":               {blindly: func(owner string) bool { return owner == special }},
		"an owner seizes from whom its name begins": {seizes: strictPrefix},
		"an owner seizes from whose name comes behind": {seizes: func(owner, holder string) bool {
			return owner < holder
		}},
		"all owners have one client's name": {value: func(string) string { return special }, byName: true},
		"a key that is another's name": {key: func(_, owner string) string {
			return "lock:" + owner + "2"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := symmetricSpec(l)
			if l.seizes != nil || l.key != nil { // two clients suffice
				spec.Clients = 2
			}
			told := searched(t, spec)
			require.NotEmpty(t, brokenPromise(told))
			spec.Program.Symmetric = false
			honest := searched(t, spec)
			require.Empty(t, brokenPromise(honest))
			require.Equal(t, harness.Invalid, honest.Verdict())
			require.Equal(t, honest.Schedules, told.Schedules)
			require.Equal(t, foundIn(honest), foundIn(told))
		})
	}
}

// If a lock mistakes the name of one client for that of another, the search drops the promise and finds the violation.
func TestNamesThatAreTakenForOthersBreakThePromise(t *testing.T) {
	for lets, clients := range map[string]int{
		"v:sub(1, #ARGV[1]) == ARGV[1]": 3,
		"ARGV[1]:sub(1, #v) == v":       3,
		"v:lower() == ARGV[1]:lower()":  3,
		"ARGV[1] >= v":                  3,
		"ARGV[1] <= v":                  3,
		"v:sub(-#ARGV[1]) == ARGV[1]":   4, // only the fourth client has such a name
		"ARGV[1]:sub(-#v) == v":         4,
	} {
		spec := symmetricSpec(tokenLock{lets: lets})
		spec.Clients = clients
		told := searched(t, spec)
		require.NotEmpty(t, brokenPromise(told), lets)
		require.Equal(t, harness.Invalid, told.Verdict(), lets)
	}
}

// A client that does something else than the others does not break the promise that the others are interchangeable.
// Their parts stay the same.
func TestAClientApartIsNoneOfThoseThatAreAlike(t *testing.T) {
	told := func(habits bool) interleave.Result {
		p := workloads.LockProgram(workloads.Options{Habits: habits},
			func(r redis.UniversalClient) workloads.Locker {
				return &tokenLock{redis: r, mine: map[string]string{}}
			})
		p.Symmetric, p.NoBackgroundWork = true, true
		res := searched(t, Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...)})
		require.Equal(t, harness.Valid, res.Verdict(), res.Summary())
		require.Empty(t, brokenPromise(res))
		return res
	}
	alike, apart := told(false), told(true)
	require.Len(t, apart.Parts, len(alike.Parts)+4)
	for i, part := range alike.Parts {
		require.Equal(t, part.Schedules, apart.Parts[i].Schedules, "part %d", i+1)
	}
	for i, part := range apart.Parts[len(alike.Parts):] {
		want := [2]int{1, 0}
		if i >= 2 { // no client reads the time
			want = [2]int{0, 1}
		}
		require.Equal(t, want, [2]int{part.Budget.Crashes, part.Budget.Approaches})
	}
}

// If clients read the time, a part with a client of Program.SpecialPlaces has a crash, and time passes only beyond the
// end of a lease.
func TestAClientApartOfALockThatTellsTheTime(t *testing.T) {
	p := workloads.LockProgram(workloads.Options{Habits: true}, func(r redis.UniversalClient) workloads.Locker {
		return &tokenLock{redis: r, mine: map[string]string{}, looks: true}
	})
	p.Symmetric, p.NoBackgroundWork = true, true
	s := Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...)}
	s.Clients = 2
	res := searched(t, s)
	require.Equal(t, harness.Valid, res.Verdict(), res.Summary())
	n := 0
	for _, part := range res.Parts {
		if part.Budget.Place >= interleave.MaxClients-1 {
			require.Equal(t, [2]int{1, 0}, [2]int{part.Budget.Crashes, part.Budget.Approaches})
			n++
		}
	}
	require.Equal(t, 2, n)
}

// otherPlaces puts any two of up to four clients into the places of any other two.
func TestEachTwoClientsTakeThePlacesOfEachTwo(t *testing.T) {
	for clients := 2; clients <= interleave.MaxExhaustive; clients++ {
		all := otherPlaces(clients)
		require.NotContains(t, all, permutations(clients)[0])
		met := map[[4]int]bool{}
		for _, p := range all {
			for i, x := range p {
				require.Equal(t, i, slices.Index(p, x))
				for j, y := range p {
					met[[4]int{i, j, x, y}] = true
				}
			}
		}
		for _, of := range pairsOf(clients) {
			for _, by := range pairsOf(clients) {
				if of != by {
					require.True(t, met[[4]int{of[0], of[1], by[0], by[1]}], "%v in the places of %v", by, of)
				}
			}
		}
	}
	require.Len(t, otherPlaces(2), 1)
	require.Len(t, otherPlaces(3), 5)
	require.Len(t, otherPlaces(4), 11)
	require.Equal(t, []places{{1, 2, 3, 4, 0}, {2, 3, 4, 0, 1}, {3, 4, 0, 1, 2}, {4, 0, 1, 2, 3}}, otherPlaces(5))
	require.Equal(t, "clients 2, 3, 1 in the places of clients 1, 2, 3", places{1, 2, 0}.String())
}

// pairsOf lists the pairs of different clients.
func pairsOf(clients int) (all [][2]int) {
	for a := range clients {
		for b := range clients {
			if a != b {
				all = append(all, [2]int{a, b})
			}
		}
	}
	return all
}

// foundIn lists the classes of counterexamples with their lengths.
func foundIn(res interleave.Result) (all []string) {
	for _, c := range res.Counterexamples {
		all = append(all, fmt.Sprint(c.Anomaly.Class, " in ", c.Length()))
	}
	return all
}

// Clients that differ only in their names are interchangeable, however a lock uses the names.
func TestClientsThatAreAlikeKeepTheirPromise(t *testing.T) {
	for name, l := range map[string]tokenLock{
		"names as they are": {},
		"names within values": {value: func(owner string) string {
			return `{"host": "worker-7", "owner": "` + owner + `", "n": 1}`
		}},
		"random words":   {value: func(string) string { return fmt.Sprintf("%016x", rand.Uint64()) }},
		"random numbers": {value: func(string) string { return fmt.Sprint(1_000_000 + rand.IntN(1_000_000)) }},
		"random words, beginning": {value: func(owner string) string {
			return fmt.Sprintf("%s-%08x", owner, rand.Uint32())
		}},
		"statistics by owner":    {counts: func(owner string) string { return "stats:host-of-" + owner }},
		"keys that end together": {marks: func(owner string) string { return "mark-" + owner }},
		"long values": {value: func(owner string) string {
			return owner + strings.Repeat(" and more", 30) + owner
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := symmetricSpec(l)
			spec.Clients, spec.Crashes = 2, 1
			res := searched(t, spec)
			require.Empty(t, brokenPromise(res))
			require.Equal(t, harness.Valid, res.Verdict())
		})
	}
}

// A search also notices a broken promise when it draws schedules at random, runs in pieces or is resumed.
func TestABrokenPromiseAtRandomInPiecesAndLater(t *testing.T) {
	spec := symmetricSpec(tokenLock{blindly: func(owner string) bool { return owner == "client-12" }})
	drawn := spec
	drawn.Random = &Random{Schedules: 200, Seed: 1}
	require.NotEmpty(t, brokenPromise(resultOf(t, drawn)))

	var last *Checkpoint
	whole := searched(t, spec)
	pieces := spec
	pieces.Pieces = &Pieces{Workers: 2, Run: newPool(t, spec, 2).run, sizes: pieceSizes{20, 50}}
	pieces.OnCheckpoint = func(c *Checkpoint) error {
		last = c
		return nil
	}
	res := searched(t, pieces)
	require.NotEmpty(t, brokenPromise(res))
	require.Equal(t, foundIn(whole), foundIn(res))

	require.True(t, last.Done())
	pieces.Resume, pieces.OnCheckpoint = last, nil
	require.Equal(t, brokenPromise(res), brokenPromise(searched(t, pieces)))
}
