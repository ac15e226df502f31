package harness

import "fmt"

// Figure is a number worth reporting. A Metric makes it.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// Metric declares a figure: each has one declaration, which the checker fills in and whoever needs the number looks up by.
type Metric struct {
	Checker string // that reports it; empty: several do
	Name    string
	Unit    string // empty: a count
	Sparse  bool   // the checker leaves it out where there was nothing to count: then it is 0
}

// Of is the figure with a value, in the metric's unit.
func (m Metric) Of(value float64) Figure { return Figure{Name: m.Name, Value: value, Unit: m.Unit} }

// Count is the figure of a count.
func (m Metric) Count(n int) Figure { return m.Of(float64(n)) }

// In is the metric of one group of clients. Its name has a place for the group's number.
func (m Metric) In(group int) Metric {
	m.Name = fmt.Sprintf(m.Name, group)
	return m
}

// Figure returns the metric's value. It is an error if the metric's checker did not run, or did not report it.
func (j Judged) Figure(m Metric) (float64, error) {
	ran := false
	for _, g := range j.Judgements {
		if g.Checker != m.Checker {
			continue
		}
		ran = true
		for _, f := range g.Figures {
			if f.Name == m.Name {
				return f.Value, nil
			}
		}
	}
	switch {
	case !ran:
		return 0, fmt.Errorf("the checker %s, which reports %q, did not run", m.Checker, m.Name)
	case m.Sparse:
		return 0, nil
	}
	return 0, fmt.Errorf("the checker %s reports no %q", m.Checker, m.Name)
}
