package plan

import "time"

// RoundsVariant is the id of the workload that published experiments use.
const RoundsVariant = "writes/rounds"

// Rounds shape the load of writes/rounds. Zero values stand for the defaults named beside the fields.
type Rounds struct {
	Count  int           `yaml:"count,omitempty" zero:"default"`  // number of rounds of each client; default 400
	Every  time.Duration `yaml:"every,omitempty" zero:"default"`  // period of a client's rounds; default 100ms
	Locks  bool          `yaml:"locks,omitempty"`                 // whether all clients try for one lock in each round
	Within time.Duration `yaml:"within,omitempty" zero:"default"` // how long a WAIT may take; default 20ms
}
