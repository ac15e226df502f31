package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
)

// idleInjection returns the injection of a fault that can touch no host at the moment. The parameter why is the reason.
// The injection does nothing and is not proved.
func idleInjection(targets []string, why error) harness.Injection {
	return harness.Injection{
		Targets: targets, Bite: "nothing was done", Heal: nothingToHeal,
		Touched: func() (string, error) { return "", fmt.Errorf("idle: %w", why) },
	}
}

// errNoLink says that a fault finds no link between its hosts, since both ends are the same host at the moment.
var errNoLink = errors.New("they are one host now")

// touchedMeter counts what a link fault touches on links, from the moment when the meter is made.
type touchedMeter struct {
	c      Linked
	proof  linkProof
	links  []harness.Link // the links that lead to nodes, since no host connects to clients
	before []harness.Touched
}

func newMeter(c Linked, f harness.LinkFault, links []harness.Link) touchedMeter {
	m := touchedMeter{c: c, proof: proofOf(f)}
	for _, l := range links {
		if !slices.Contains(c.ClientGroups(), l.To) {
			m.links, m.before = append(m.links, l), append(m.before, c.Touched(l))
		}
	}
	return m
}

// mostLinks bounds how many links are listed one by one.
const mostLinks = 8

// touched says what was touched on each link, the busiest link first. It returns an error if nothing was touched on any
// link: the fault was in force where the system under test sends nothing.
func (m touchedMeter) touched() (string, error) {
	type share struct {
		link harness.Link
		of   harness.Touched
	}
	var busy []share
	var idle []harness.Link
	for i, l := range m.links {
		t := m.c.Touched(l).Minus(m.before[i])
		if m.proof.count(t) > 0 {
			busy = append(busy, share{l, t})
		} else {
			idle = append(idle, l)
		}
	}
	if len(busy) == 0 {
		return "", errors.New(m.whyIdle())
	}
	slices.SortStableFunc(busy, func(a, b share) int { return cmp.Compare(m.proof.count(b.of), m.proof.count(a.of)) })
	var told []string
	for _, s := range busy[:min(len(busy), mostLinks)] {
		told = append(told, fmt.Sprintf("%s %s", s.link, m.proof.tell(s.of)))
	}
	if more := len(busy) - mostLinks; more > 0 {
		told = append(told, fmt.Sprintf("and %d more links", more))
	}
	if len(idle) > 0 {
		told = append(told, fmt.Sprintf("nothing on %s", listFew(idle)))
	}
	return "touched: " + strings.Join(told, ", "), nil
}

// whyIdle says whose traffic was missing, and on which links.
func (m touchedMeter) whyIdle() string {
	if m.proof.lacks != "" {
		return fmt.Sprintf("idle: %s on %s", m.proof.lacks, listFew(m.links))
	}
	groups, sentinels := 0, 0
	for _, l := range m.links {
		switch {
		case slices.Contains(m.c.ClientGroups(), l.From):
			groups++
		case slices.Contains(m.c.Sentinels(), l.From):
			sentinels++
		}
	}
	whose := "the system's hosts"
	switch len(m.links) {
	case groups:
		whose = "clients"
	case sentinels:
		whose = "Sentinels"
	case len(m.links) - groups - sentinels:
		whose = "Redis nodes"
	}
	return fmt.Sprintf("idle: no traffic of %s on %s", whose, listFew(m.links))
}

// listFew lists links, the first few by name.
func listFew(links []harness.Link) string {
	const few = 3
	var names []string
	for _, l := range links[:min(few, len(links))] {
		names = append(names, l.From+" -> "+l.To)
	}
	list := strings.Join(names, ", ")
	if more := len(links) - few; more > 0 {
		list += fmt.Sprintf(" and %d more links", more)
	}
	return list
}
