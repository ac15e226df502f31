package suite

import "time"

// aSearch stands for the time of a search, which nobody knows before: most take less.
const aSearch = 2 * time.Second

// Takes says about how long each run of the suite takes, in their order, and how long all of them do: those that are run
// several times counted so often.
func (s Suite) Takes() (each []time.Duration, all time.Duration) {
	for _, r := range s.Runs {
		length := time.Duration(0)
		if r.Explore != nil {
			length = aSearch * time.Duration(len(r.searches()))
		} else if takes, err := r.Plan.Takes(); err == nil { // Check says what is wrong with it
			length = takes
		}
		each, all = append(each, length), all+length*time.Duration(max(1, r.Times))
	}
	return each, all
}
