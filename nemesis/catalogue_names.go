package nemesis

import (
	"slices"
	"strings"
)

// slots maps each word in capitals that an entry's name may contain to the parameter that the word stands for.
var slots = map[string]string{"HOST": "host", "SIDES": "sides"}

// slot splits the entry's name at the word in capitals that stands for a parameter. If there is no such word, the first
// result is the whole name.
func (e Entry) slot() (before, word, after string) {
	for word := range slots {
		if before, after, ok := strings.Cut(e.Name, word); ok {
			return before, word, after
		}
	}
	return e.Name, "", ""
}

// Slot returns the parameter that the word in capitals in the entry's name stands for, "host" or "sides". It is empty
// if there is no such word.
func (e Entry) Slot() string {
	_, word, _ := e.slot()
	return slots[word]
}

// Base returns the name without the word in capitals: "kill" for kill-HOST.
func (e Entry) Base() string {
	before, word, after := e.slot()
	if word == "" {
		return e.Name
	}
	return strings.TrimSuffix(before, "-") + after
}

// Fits reports whether name is the entry's base name, or its name with a value in place of the word in capitals. The
// first result is that value, or empty for the base name.
func (e Entry) Fits(name string) (value string, ok bool) {
	if name == e.Base() {
		return "", true
	}
	before, word, after := e.slot()
	value, ok = strings.CutPrefix(name, before)
	if !ok || word == "" {
		return "", false
	}
	value, ok = strings.CutSuffix(value, after)
	return value, ok && value != ""
}

// Find lists the entries whose fault can have this name: see Entry.Fits. The entry that spells out most of the name
// comes first, as the likeliest.
func Find(name string) []Entry {
	fits := slices.DeleteFunc(Entries(), func(e Entry) bool { _, ok := e.Fits(name); return !ok })
	slices.SortStableFunc(fits, func(a, b Entry) int {
		inA, _ := a.Fits(name)
		inB, _ := b.Fits(name)
		return len(inA) - len(inB)
	})
	return fits
}

// Example returns a name that the entry's fault can have, such as "kill-primary".
func (e Entry) Example() string {
	before, word, after := e.slot()
	if word == "" {
		return e.Name
	}
	return before + *e.Defaults.Word(slots[word]) + after
}

// Names lists the entry's name with every choice of hosts and every shape in place of the word in capitals. It includes
// names that the fault refuses. Hosts that are named one by one, such as r1, are left out.
func (e Entry) Names() (all []string) {
	before, word, after := e.slot()
	if word == "" {
		return []string{e.Name}
	}
	for _, t := range namedTargets() {
		all = append(all, before+t.name+after)
	}
	for _, s := range AllShapes() {
		if name := before + s.String() + after; !slices.Contains(all, name) { // a minority is both
			all = append(all, name)
		}
	}
	return all
}

// Words explains a word in capitals, such as HOST, and lists what can stand in its place.
type Words struct {
	Name, Doc string
	Values    [][2]string // pairs of a word and its meaning
}

// WordsInNames explains HOST, HOW and SIDES, the placeholders in names of faults.
func WordsInNames() []Words {
	sides := Words{Name: "SIDES", Doc: "who loses whom"}
	for _, s := range AllShapes() {
		sides.Values = append(sides.Values, [2]string{s.String(), s.Doc()})
	}
	return []Words{{Name: "HOST", Doc: targetWords}, {Name: "HOW", Doc: howWords}, sides}
}

const (
	targetWords = "primary, replica, replicas, sentinel, sentinels, node, nodes, minority, majority, group, clients, " +
		"or a name: r1, s2, g0"
	howWords = "hold: bytes wait until the heal; drop: they are lost; drop-replies: only answers are; " +
		"refuse: connections are reset"
)
