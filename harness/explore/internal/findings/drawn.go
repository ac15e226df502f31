package findings

import "github.com/doublegrant/doublegrant/harness"

// Drawn is what a random search has seen. The search's lock guards it.
type Drawn struct {
	Drawn int `json:"drawn,omitempty"` // schedules that were drawn and run to their end
	// those that were drawn knowing the length of the longest
	Counted int `json:"judged,omitempty"`
	Actors  int `json:"actors,omitempty"` // most actors in one schedule
	Steps   int `json:"steps,omitempty"`  // steps of the longest schedule
	// most instants to which time could pass by one kind of fault
	Instants int                   `json:"instants,omitempty"`
	FirstAt  map[harness.Class]int `json:"firstAt,omitempty"` // by class: number of the first schedule that showed it
}

// Draw says how a schedule was drawn at random. The zero value: it was not.
type Draw struct {
	Number   int // number of the schedule, from 1
	Actors   int // actors in it
	Instants int // most instants, at one moment, to which time could pass by one kind of fault
}

// count adds a schedule of that many steps, if it was drawn at random.
func (r *Drawn) count(steps int, d Draw) {
	if d.Number > 0 {
		r.add(Drawn{Drawn: 1, Counted: 1, Actors: d.Actors, Steps: steps, Instants: d.Instants})
	}
}

// add merges what another search, or a piece of this one, has seen.
func (r *Drawn) add(more Drawn) {
	r.Drawn += more.Drawn
	r.Counted += more.Counted
	r.Actors = max(r.Actors, more.Actors)
	r.Steps = max(r.Steps, more.Steps)
	r.Instants = max(r.Instants, more.Instants)
	for class, number := range more.FirstAt {
		r.note(class, number)
	}
}

// note records that a schedule showed a class. number is 0 if the schedule was not drawn at random.
func (r *Drawn) note(c harness.Class, number int) {
	if number == 0 {
		return
	}
	if r.FirstAt == nil {
		r.FirstAt = map[harness.Class]int{}
	}
	if old := r.FirstAt[c]; old == 0 || number < old {
		r.FirstAt[c] = number
	}
}
