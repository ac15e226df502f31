package granttest

import (
	"context"
	"errors"
	"net"
	"reflect"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// kind says what an algorithm is: a lock, a filter or a sequence.
type kind string

const (
	lockKind     kind = "lock"
	dedupKind    kind = "dedup"
	sequenceKind kind = "sequence"
)

// promise describes, for messages, what an algorithm of each kind promises to be.
var promise = map[kind]string{lockKind: "a lock", dedupKind: "a filter", sequenceKind: "a sequence"}

// subject is the algorithm under test, with the test's options.
type subject struct {
	kind     kind
	name     string
	shape    reflect.Type // type that the constructor makes; an interface if the dynamic type is unknown
	shared   bool         // goroutines share its values: see Shared
	regimes  []Regime     // regimes of a sequence; nil for locks and filters
	program  func(*supervisor, parameters) interleave.Program
	workload func(*supervisor, workloads.Connector) harness.Workload
	lease    time.Duration // longest lease or window of the load; 0: there is none
	search   Search
	load     Load
	searched covered // situations that the search has met so far
}

// parameters holds the settings in which the searches of one test differ.
type parameters struct {
	TTL    time.Duration `json:"ttl,omitempty"` // lease or window; 0: as the test's options say
	Regime Regime        `json:"regime,omitempty"`
}

// variations lists the parameters of all programs to search: one program, or one for each regime of a sequence.
func (s subject) variations() (all []parameters) {
	for _, r := range s.regimes {
		all = append(all, parameters{Regime: r})
	}
	if len(all) == 0 {
		return []parameters{{}}
	}
	return all
}

// run tests the algorithm. It replays saved schedules, then searches, then runs the load.
func (s subject) run(t TB) {
	t.Helper()
	if _, _, err := cluster.FindRedis(""); err != nil {
		t.Fatalf("granttest: %v", err)
	}
	if err := errors.Join(s.search.check(), s.load.check(), s.checkShared()); err != nil {
		t.Fatalf("granttest: the options: %v", err)
	}
	if *replayFile != "" {
		s.replayOne(t, *replayFile)
		return
	}
	searching, loading := !s.search.Skip, !s.load.Skip && !isShort()
	if !searching && !loading {
		skip(t, "granttest: nothing to do: the search is left out by its options, and so is the load, or by -short")
		return
	}
	defer boundLog(t)()
	s.searched = covered{}
	if s.replaySaved(t) && (!searching || s.searchPrograms(t)) && loading {
		s.underLoad(t)
	}
}

// skip skips the test if t supports that, and otherwise fails it.
func skip(t TB, why string) {
	t.Helper()
	if s, ok := t.(interface{ Skipf(string, ...any) }); ok {
		s.Skipf("%s", why)
	}
	t.Fatalf("%s", why)
}

var errNoServer = errors.New("granttest: this client has no server: it is only asked what it can do")

func noServer(context.Context, string, string) (net.Conn, error) { return nil, errNoServer }
