package harness

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"
)

// Effects is a set of what a fault does to its targets. Code that asks what a fault can have caused looks at this set,
// never at the fault's name. The zero value means unknown: an older program made the record, or the Nemesis declares no
// effects.
type Effects uint32

// The effects of faults. Each lasts while the fault is in force. Targets may need some time after the heal to recover.
const (
	// EndsProcess: processes of targets end, and lose what they had not stored.
	EndsProcess Effects = 1 << iota
	// StartsProcess: new processes replace the ended ones at once. Without it the targets stay down until the heal.
	StartsProcess
	// StopsProcess: processes of targets are suspended. Commands that arrive meanwhile are executed afterwards.
	StopsProcess
	// DefersCommands: targets queue commands of clients and Sentinels, and execute them afterwards.
	DefersCommands
	// CutsLinks: links carry nothing, or no answers.
	CutsLinks
	// SlowsLinks: links carry everything, later than usual.
	SlowsLinks
	// EndsConnections: open connections end. New ones may be opened at once.
	EndsConnections
	// MovesPrimary: Sentinels are told to promote another node although nothing is wrong with the primary.
	MovesPrimary
	// DropsKeys: targets remove keys before their time.
	DropsKeys
	// DropsScripts: targets forget cached scripts.
	DropsScripts
	// ShiftsClock: clocks of targets go wrong.
	ShiftsClock
	// EndsClients: clients of target groups crash.
	EndsClients
	// StopsClients: clients of target groups are suspended.
	StopsClients
	// DefersWrites: targets queue commands that write, and execute them afterwards. They answer all others.
	DefersWrites
)

var effectNames = [...]string{
	"ends-process", "starts-process", "stops-process", "holds-commands", "cuts-links", "slows-links",
	"ends-connections", "moves-primary", "drops-keys", "drops-scripts", "shifts-clock", "ends-clients", "stops-clients",
	"holds-writes",
}

// Has reports whether e has every effect of the given set.
func (e Effects) Has(all Effects) bool { return e&all == all }

// Any reports whether e has at least one effect of the given set.
func (e Effects) Any(some Effects) bool { return e&some != 0 }

// list lists the effects of the set in the order of their declaration.
func (e Effects) list() []string {
	names := make([]string, 0, bits.OnesCount32(uint32(e)))
	for i, name := range effectNames {
		if e.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// String lists the effects, such as "ends-process, starts-process"; empty for none.
func (e Effects) String() string { return strings.Join(e.list(), ", ") }

// MarshalJSON writes a list of names.
func (e Effects) MarshalJSON() ([]byte, error) { return json.Marshal(e.list()) }

// UnmarshalJSON reads a list of names. An unknown name is an error that lists the known ones.
func (e *Effects) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*e = 0
	for _, name := range names {
		one, err := effectNamed(name)
		if err != nil {
			return err
		}
		*e |= one
	}
	return nil
}

// effectNamed returns the effect with the given name. The error for an unknown name lists the known ones.
func effectNamed(name string) (Effects, error) {
	for i, known := range effectNames {
		if name == known {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown effect %q of a fault: choose from %s", name, strings.Join(effectNames[:], ", "))
}

// Effective is a Nemesis that declares what its fault does, as every Nemesis of package nemesis does.
type Effective interface {
	Effects() Effects
}

// effectsOf returns the effects that n declares, or 0 if it declares none.
func effectsOf(n Nemesis) Effects {
	if e, ok := n.(Effective); ok {
		return e.Effects()
	}
	return 0
}
