package findings

import "github.com/doublegrant/doublegrant/harness"

// Drawn holds what a search at random has seen. The search's lock guards it.
type Drawn struct {
	Drawn int `json:"drawn,omitempty"` // schedules that were drawn and run to their end
	// those of them that were drawn knowing the length of the longest
	Judged int `json:"judged,omitempty"`
	Actors int `json:"actors,omitempty"` // the most actors that one had
	Steps  int `json:"steps,omitempty"`  // steps of the longest
	// the most instants to which time could have passed by one kind of fault
	Instants int                   `json:"instants,omitempty"`
	FirstAt  map[harness.Class]int `json:"firstAt,omitempty"` // number of the first schedule that showed a class
}

// Draw says how a schedule was drawn at random. The zero value says that it was not.
type Draw struct {
	Number   int // of the schedule, from 1
	Actors   int // that it had
	Instants int // the most instants, at one moment, to which time could pass by one kind of fault
}

// count counts a schedule with its number of steps, if it was drawn at random.
func (r *Drawn) count(steps int, d Draw) {
	if d.Number > 0 {
		r.add(Drawn{Drawn: 1, Judged: 1, Actors: d.Actors, Steps: steps, Instants: d.Instants})
	}
}

// add adds what another search, or a piece of this one, has seen.
func (r *Drawn) add(more Drawn) {
	r.Drawn, r.Judged = r.Drawn+more.Drawn, r.Judged+more.Judged
	r.Actors, r.Steps, r.Instants = max(r.Actors, more.Actors), max(r.Steps, more.Steps), max(r.Instants, more.Instants)
	for class, number := range more.FirstAt {
		r.note(class, number)
	}
}

// note notes that a schedule drawn at random showed a class. Those that were not drawn have the number 0.
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
