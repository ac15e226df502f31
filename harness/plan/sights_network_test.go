package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// link returns a link that the fault strikes. It draws hosts for both ends, as the fault did. If it draws others than
// the fault, it returns errNotYet, so that the caller tries again.
func (s *scene) link() (harness.Link, error) {
	on := blueprint{name: Sentinel, redis: 3, sentinels: 3, group: clientGroups, primaries: 1}
	if n := s.count("s"); n == 0 {
		on.redis, on.sentinels, on.primaries = s.count("r"), 0, s.count("r")
	}
	on.elected = max(0, slices.Index(on.RedisNodes(), s.first))
	links, err := s.f.linksOn(on, rand.Uint64())
	if err != nil {
		return harness.Link{}, err
	}
	for _, l := range links { // the injection may have drawn other hosts than this call: its own are in targets
		if slices.Contains(s.targets, l.From) && slices.Contains(s.targets, l.To) && !strings.HasPrefix(l.To, "g") {
			return l, nil
		}
	}
	return harness.Link{}, errNotYet
}

// nodes lists the Redis nodes for the letter r, and the Sentinels for s.
func (s *scene) nodes(letter string) (all []string) {
	for node := range s.at {
		if strings.HasPrefix(node, letter) {
			all = append(all, node)
		}
	}
	return all
}

func (s *scene) count(letter string) int { return len(s.nodes(letter)) }

// onLine looks at a connection over a link that the fault strikes.
func onLine(look func(s *scene, conn *line) error) func(*scene) error {
	return onLink(func(s *scene, l harness.Link) error {
		conn, err := s.over(l.From, l.To)
		if err != nil {
			return err
		}
		defer conn.Close()
		return look(s, conn)
	})
}

// onLink looks at a link that the fault strikes.
func onLink(look func(s *scene, l harness.Link) error) func(*scene) error {
	return func(s *scene) error {
		l, err := s.link()
		if err != nil {
			return err
		}
		return look(s, l)
	}
}

var (
	linkCut = onLink(func(s *scene, l harness.Link) error {
		_, err := s.ask(l.To, "PING") // so that the silence is the link's
		return errors.Join(want(s.crosses(l.From, l.To) != nil, "%v works", l), err)
	})
	linkWorks = onLink(func(s *scene, l harness.Link) error { return s.crosses(l.From, l.To) })

	slow   = onLine(func(s *scene, conn *line) error { return conn.echoes(1, 2*(s.f.Latency-s.f.Jitter)) })
	narrow = onLine(func(s *scene, conn *line) error { return conn.echoes(s.f.Bandwidth/4, time.Second/4) })
)

// echoes checks that an echo of size bytes takes at least the given time.
func (l *line) echoes(size int, least time.Duration) error {
	began := time.Now()
	if _, err := l.ask(lookLong, "PING", strings.Repeat("o", size)); err != nil {
		return err
	}
	took := time.Since(began)
	return want(took >= least, "%d B took %v", size, took)
}

// sliced checks that an answer comes in pieces.
var sliced = onLine(func(s *scene, conn *line) error {
	_ = conn.SetDeadline(time.Now().Add(lookLong))
	size := 20 * s.f.Size
	if _, err := fmt.Fprintf(conn, "*2\r\n$4\r\nPING\r\n$%d\r\n%s\r\n", size, strings.Repeat("o", size)); err != nil {
		return err
	}
	n, err := conn.Read(make([]byte, 10*size))
	return errors.Join(err, want(n < size, "the first piece had %d B of %d", n, size))
})

// limited checks that a connection ends in the middle of an answer.
var limited = onLine(func(s *scene, conn *line) error {
	_, err := conn.ask(lookLong, "PING", strings.Repeat("o", 2*s.f.Bytes))
	return want(closed(err), "a connection did not end: %v", err)
})

// closesLate hangs up and checks that the node notices only after the delay.
var closesLate = onLine(func(s *scene, conn *line) error {
	began := time.Now()
	if err := conn.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(lookLong))
	_, err := conn.in.ReadByte()
	took := time.Since(began)
	return want(closed(err) && took >= s.f.Delay, "it ended after %v: %v", took, err)
})

// apart checks that a partition cuts the links that it should and no others, and that primaries are as expected.
func apart(s *scene) error {
	cut, open := s.drawn()
	if err := errors.Join(s.all(open, true), s.all(cut, false)); err != nil {
		return err
	}
	if s.f.Shape == "bridge" {
		return replaced(func(*scene) error { return nil })(s)
	}
	if all := s.primaries(); twoAreWritable(s.f.Shape) && s.f.How != "drop-replies" {
		return want(len(all) == 2, "the primaries are %v", all)
	}
	return nil
}

// all checks that all links work, or that none does. It tries all at the same time, since a dead link takes a while.
func (s *scene) all(links []harness.Link, work bool) error {
	return errors.Join(await.All(len(links), func(i int) error {
		err := s.crosses(links[i].From, links[i].To)
		if (err == nil) != work {
			return fmt.Errorf("%v should work: %v, and its error is %w", links[i], work, err)
		}
		return nil
	})...)
}

func twoAreWritable(sides string) bool {
	return slices.Contains([]string{"split-brain", "split-brain-replica", "primary-sentinels", "isolate-primary"},
		sides)
}

// drawn returns links that a partition of the shape cuts, and links that it leaves open, by the description of the
// shape.
func (s *scene) drawn() (cut, open []harness.Link) {
	sentinels, struck := s.nodes("s"), s.targets[1:]
	replicas := slices.DeleteFunc(s.nodes("r"), func(node string) bool { return node == s.first })
	nodes := slices.DeleteFunc(slices.Clone(s.targets), func(t string) bool { return !strings.HasPrefix(t, "r") })
	in := func(of []string, is bool) []string {
		return slices.DeleteFunc(slices.Clone(of), func(h string) bool { return slices.Contains(struck, h) != is })
	}
	p, few, many := []string{s.first}, []string{"g0", "g1"}, []string{"g2", "g4"}
	switch s.f.Shape {
	case "split-brain", "split-brain-replica":
		own := in(sentinels, true)
		cut = slices.Concat(harness.Links(few, in(replicas, false)), harness.Links(many, p),
			harness.Links(in(sentinels, false), p), harness.Links(own, in(replicas, false)))
		open = slices.Concat(harness.Links(few, p), harness.Links(many, in(replicas, false)), harness.Links(own, p),
			harness.Links(in(replicas, true), p))
	case "bridge":
		bridge := []string{s.targets[len(s.targets)-1]}
		cut, open = append(harness.Links(many, p), harness.Links(in(sentinels, false), p)...),
			harness.Links(append(few, many...), bridge)
	case "clients-primary":
		cut, open = harness.Links(few, p), append(harness.Links(many, p), harness.Links(sentinels, p)...)
	case "primary-replica", "primary-replicas":
		cut, open = harness.Between(in(replicas, true), p),
			append(harness.Links(append(few, many...), p), harness.Links(sentinels, p)...)
	case "primary-sentinel", "primary-sentinels":
		cut, open = harness.Between(in(sentinels, true), p),
			slices.Concat(harness.Links(in(sentinels, false), p), harness.Links(append(few, many...), p))
	case "isolate-primary":
		cut, open = append(harness.Between(replicas, p), harness.Between(sentinels, p)...),
			harness.Links(append(few, many...), p)
	case "minority":
		cut = harness.Links(append(few, many...), nodes)
	case "clients-minority":
		cut, open = harness.Links(few, nodes), harness.Links(many, nodes)
	}
	return cut, open
}

// together checks that nothing is cut any more and, with Sentinels, that a primary that was isolated has been replaced.
func together(s *scene) error {
	cut, open := s.drawn()
	if err := s.all(append(cut, open...), true); err != nil || s.count("s") == 0 {
		return err
	}
	if twoAreWritable(s.f.Shape) && slices.Equal(s.primaries(), []string{s.first}) {
		return fmt.Errorf("%s is still primary", s.first)
	}
	return agreed(s)
}
