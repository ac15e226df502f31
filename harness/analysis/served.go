package analysis

import (
	"fmt"
	"sort"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// served says which node served each client group over time. Serving means either that the node acknowledged the
// group's writes, or that it answered any command.
type served struct {
	recorded bool // false: the record does not say who served, since its program is older or clients connect directly
	groups   map[int][]serving
}

// serving says that from some time on a node serves a group.
type serving struct {
	from time.Duration
	node string
}

// servedOf reads the events of one kind, harness.EventServesWrites or harness.EventAnswers.
func servedOf(events []harness.Event, kind string) served {
	s := served{groups: map[int][]serving{}}
	for _, e := range events {
		var group int
		if e.Kind != kind {
			continue
		}
		s.recorded = true
		if _, err := fmt.Sscanf(e.Detail, "g%d", &group); err == nil {
			s.groups[group] = append(s.groups[group], serving{e.At, e.Node})
		}
	}
	return s
}

// nodeFor returns the node that served the group at t, or "" if no node had served the group yet.
func (s served) nodeFor(group int, t time.Duration) string {
	all := s.groups[group]
	later := sort.Search(len(all), func(i int) bool { return all[i].from > t })
	if later == 0 {
		return ""
	}
	return all[later-1].node
}
