package granttest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/nemesis"
)

// This file tests values that the goroutines of a process share.

// Process is the parameter of the constructor that Shared returns.
type Process[C any] struct{ client C }

// Shared returns newT as the constructor of a value that the goroutines of one process share, like the lock manager of
// a service:
//
//	granttest.Lock(t, granttest.Shared(newManager))
//
// Each client is a goroutine. Two of them share a value and its Redis client in the search (Search.Goroutines), and ten
// in the load (Load.Goroutines). A crash ends all goroutines of a process; the search has one only on request
// (Search.Crashes).
//
// The search runs one goroutine at a time, from one command to the next. So only the load, and go test -race, can find
// a map that is read and written without a mutex. A crash does not reset memory outside of the value, such as a
// variable of the package.
func Shared[C, T any](newT func(C) T) func(Process[C]) T {
	if newT == nil {
		return nil
	}
	return func(p Process[C]) T { return newT(p.client) }
}

// sharing is implemented by every Process.
type sharing interface {
	takes() reflect.Type
	of(*redis.Client) (any, bool)
}

func (Process[C]) takes() reflect.Type { return reflect.TypeFor[C]() }

// of returns a Process with the client r. ok is false if r is not a C.
func (Process[C]) of(r *redis.Client) (process any, ok bool) {
	c, ok := any(r).(C)
	return Process[C]{c}, ok
}

// isShared reports whether a constructor with parameter C makes values that goroutines share.
func isShared[C any]() bool {
	var c C
	_, yes := any(c).(sharing)
	return yes
}

// clientOf returns the type of client that a constructor with the parameter C needs, and a function that makes the
// constructor's argument from a *redis.Client. ok is false if a *redis.Client is not of that type.
func clientOf[C any]() (takes reflect.Type, of func(redis.UniversalClient) C, ok bool) {
	var c C
	if p, shares := any(c).(sharing); shares {
		_, ok = p.of(nil)
		return p.takes(), func(r redis.UniversalClient) C {
			made, _ := p.of(r.(*redis.Client))
			return made.(C)
		}, ok
	}
	_, ok = any((*redis.Client)(nil)).(C)
	return reflect.TypeFor[C](), func(r redis.UniversalClient) C { return any(r).(C) }, ok
}

const (
	searchGoroutines = 2
	loadGoroutines   = 10
)

// goroutines returns how many clients of a search share a value.
func (s subject) goroutines() int {
	if !s.shared {
		return 1
	}
	return cmp.Or(s.search.Goroutines, searchGoroutines)
}

// unshareable returns why values of this type cannot serve several goroutines; empty if they can.
func (s subject) unshareable() string {
	if s.shared && s.kind == lockKind && s.shape.Implements(reflect.TypeFor[Fencer]()) {
		return fmt.Sprintf("%s has Fence(), the token of the last grant, and its goroutines share it, so it is not "+
			"clear whose grant that was: give each goroutine its own value", s.name)
	}
	return ""
}

// checkShared returns an error for options that do not fit: some never work with shared values, and others work only
// with them.
func (s subject) checkShared() error {
	if !s.shared && (s.search.Goroutines != 0 || s.load.Goroutines != 0) {
		return errors.New("the field Goroutines is the number of clients that share a value: wrap the constructor " +
			"in granttest.Shared(...), or leave the field out")
	}
	for _, f := range s.load.Faults {
		if s.shared && f.Can(nemesis.Crashes) {
			return errors.New("CrashClients ends single goroutines, but a crash ends all goroutines that share a " +
				"value: leave the fault out")
		}
	}
	return nil
}

// sharedInLoad returns a constructor for clients of a load in which several clients share each value of newG. For a
// search it returns newG, since the explorer assigns clients to values.
func sharedInLoad[G any](s *subject, g *supervisor, newG func(redis.UniversalClient) G) func(redis.UniversalClient) G {
	g.shared = g.shared || s.shared
	if !s.shared || g.lasting {
		return newG
	}
	var mu sync.Mutex
	type process struct {
		value G
		free  int
	}
	last := map[redis.UniversalClient]*process{}
	return func(r redis.UniversalClient) G {
		if r == nil {
			return newG(nil)
		}
		mu.Lock()
		defer mu.Unlock()
		p := last[r]
		if p == nil || p.free == 0 {
			p = &process{newG(r), cmp.Or(s.load.Goroutines, loadGoroutines)}
			last[r] = p
		}
		p.free--
		return p.value
	}
}

// alreadyMade returns an error text if the constructor has returned the same value before, for another client or
// process; empty if it has not. In a search a client makes a new value for each schedule, so only the client's latest
// value counts.
func (g *supervisor) alreadyMade(s *subject, r redis.UniversalClient, value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 { // values of size zero may all have one address
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var of any = r
	if !g.lasting {
		of = value
		if _, made := g.made[of]; made {
			return s.madeTwice()
		}
	}
	for other, made := range g.made {
		if other != of && made == value {
			return s.madeTwice()
		}
	}
	if g.made[of] = value; !g.lasting {
		g.made[of] = nil
	}
	return ""
}

func (s *subject) madeTwice() string {
	function := map[kind]string{lockKind: "Lock", dedupKind: "Dedup", sequenceKind: "Sequence"}[s.kind]
	if s.shared {
		return "the constructor returned one value for two processes: let it make one for each call, with the Redis " +
			"client that it is given"
	}
	return "the constructor returned one value for two clients: let it make one for each call. To test a value that " +
		"goroutines of a process share, also write granttest." + function + "(t, granttest.Shared(newIt))"
}
