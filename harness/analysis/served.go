package analysis

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// served tells which node served a client: the record says from when to when each node acknowledged the writes of each
// client group, or answered it at all.
type served struct {
	known  bool // false: an older program made the record, or clients connect by themselves
	groups map[int][]serving
}

// serving says that a node serves a group from then on.
type serving struct {
	from time.Duration
	node string
}

// servedOf reads the events of one kind, EventServes or EventAnswers.
func servedOf(events []harness.Event, kind string) served {
	s := served{groups: map[int][]serving{}}
	for _, e := range events {
		var group int
		if e.Kind != kind {
			continue
		}
		s.known = true
		if _, err := fmt.Sscanf(e.Detail, "g%d", &group); err == nil {
			s.groups[group] = append(s.groups[group], serving{e.At, e.Node})
		}
	}
	return s
}

// by returns the node that served an operation of the group which returned at t; empty if none had served the group before.
func (s served) by(group int, t time.Duration) string {
	all := s.groups[group]
	i, found := slices.BinarySearchFunc(all, t, func(v serving, t time.Duration) int {
		if v.from <= t {
			return -1
		}
		return 1
	})
	if found || i == 0 {
		return ""
	}
	return all[i-1].node
}
