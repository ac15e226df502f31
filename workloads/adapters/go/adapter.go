//go:build ignore

// This file speaks the protocol of ../README.md for a program in Go. Build it with a main.go beside it, which calls
// Serve: go build -o mylock main.go adapter.go. Use it for a lock that needs other versions of libraries than
// doublegrant does. For any other lock in Go, package granttest is simpler.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// Lock is a lock of one client. Each method returns whether it was done, and an error if that is not known.
type Lock interface {
	Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
	Release(ctx context.Context, key, owner string) (bool, error)
}

// Extender is implemented by a Lock that can renew its lease.
type Extender interface {
	Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
}

// Filter tells new messages from those that were seen before.
type Filter interface {
	Claim(ctx context.Context, key string, window time.Duration) (bool, error)
}

// Confirmer is implemented by a Filter that marks in two steps: Claim before a message is handled, and Confirm after
// it.
type Confirmer interface {
	Confirm(ctx context.Context, key string, window time.Duration) (bool, error)
}

// Sequence draws numbers. It returns decimal digits.
type Sequence interface {
	Next(ctx context.Context, key, proposed string) (string, error)
}

// ErrNothingDone is wrapped by errors after which certainly nothing was done.
var ErrNothingDone = errors.New("nothing was done")

// Says is what the program tells doublegrant about itself. The zero value suits a program that uses one Redis, and no
// clock but doublegrant's.
type Says struct {
	Symmetric bool   // tokens are only compared for equality
	Masters   int    // least number of independent masters; 0: one Redis
	Clock     string // "asked", "preloaded" or "real"; default: "asked"
	Fresh     bool   // each schedule of a search begins with new clients
}

type request struct {
	ID       int      `json:"id"`
	Do       string   `json:"do"`
	Redis    string   `json:"redis"`
	Masters  []string `json:"masters"`
	Client   int      `json:"client"`
	Key      string   `json:"key"`
	Owner    string   `json:"owner"`
	Proposed string   `json:"proposed"`
	TTL      int64    `json:"ttl_ms"`
}

// Serve answers requests until standard input ends. The function open makes the Lock, Filter or Sequence of one client.
// Its argument urls has one URL of Redis, or one for each master. The methods of T tell which operations the program
// can do.
func Serve[T any](says Says, open func(urls []string) (T, error)) {
	var kind T
	s := &server{says: says, kind: kind, clients: map[int]any{}}
	s.open = func(urls []string) (any, error) { return open(urls) }
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		switch r.Do {
		case "init":
			s.init(r)
		case "reset":
			s.mu.Lock()
			s.clients = map[int]any{}
			s.mu.Unlock()
			s.answer(r.ID, true, nil)
		default:
			go s.operate(r)
		}
	}
}

type server struct {
	says    Says
	kind    any // zero value of the type that open returns, to find out its methods
	open    func([]string) (any, error)
	urls    []string
	mu      sync.Mutex // guards clients, and lines that are written
	clients map[int]any
}

func (s *server) say(answer map[string]any) {
	line, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		os.Exit(0) // doublegrant is gone
	}
}

func (s *server) init(r request) {
	if s.urls = []string{r.Redis}; s.says.Masters > 0 {
		s.urls = r.Masters
	}
	// The first client is made now: what its library sends to connect is no part of an operation.
	if _, err := s.client(1); err != nil {
		s.say(map[string]any{"id": r.ID, "fail": err.Error()})
		return
	}
	var can []string
	c := s.kind
	for name, yes := range map[string]bool{"acquire": is[Lock](c), "release": is[Lock](c), "extend": is[Extender](c),
		"claim": is[Filter](c), "confirm": is[Confirmer](c), "next": is[Sequence](c)} {
		if yes {
			can = append(can, name)
		}
	}
	clock := s.says.Clock
	if clock == "" {
		clock = "asked"
	}
	s.say(map[string]any{"id": r.ID, "ok": true, "version": 1, "can": can, "symmetric": s.says.Symmetric,
		"masters": s.says.Masters, "clock": clock, "reset": s.says.Fresh})
}

func is[T any](c any) bool {
	_, yes := c.(T)
	return yes
}

// client returns client n, and makes it when it is first needed.
func (s *server) client(n int) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[n]; ok {
		return c, nil
	}
	c, err := s.open(s.urls)
	if err == nil {
		s.clients[n] = c
	}
	return c, err
}

func (s *server) operate(r request) {
	c, err := s.client(r.Client)
	if err != nil {
		s.answer(r.ID, false, err)
		return
	}
	ctx, ttl, ok := context.Background(), time.Duration(r.TTL)*time.Millisecond, false
	switch r.Do {
	case "acquire":
		ok, err = c.(Lock).Acquire(ctx, r.Key, r.Owner, ttl)
	case "extend":
		ok, err = c.(Extender).Extend(ctx, r.Key, r.Owner, ttl)
	case "release":
		ok, err = c.(Lock).Release(ctx, r.Key, r.Owner)
	case "claim":
		ok, err = c.(Filter).Claim(ctx, r.Key, ttl)
	case "confirm":
		ok, err = c.(Confirmer).Confirm(ctx, r.Key, ttl)
	case "next":
		number, err := c.(Sequence).Next(ctx, r.Key, r.Proposed)
		if err == nil {
			s.say(map[string]any{"id": r.ID, "ok": true, "number": number})
			return
		}
		s.answer(r.ID, false, err)
		return
	default:
		err = errors.New("unknown request " + r.Do)
	}
	s.answer(r.ID, ok, err)
}

func (s *server) answer(id int, ok bool, err error) {
	switch {
	case errors.Is(err, ErrNothingDone):
		s.say(map[string]any{"id": id, "fail": err.Error()})
	case err != nil:
		s.say(map[string]any{"id": id, "info": err.Error()})
	default:
		s.say(map[string]any{"id": id, "ok": ok})
	}
}
