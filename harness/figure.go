package harness

import "fmt"

// Figure is a number worth reporting. A Metric makes it.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// Metric declares a figure. A checker makes the figure from its Metric, and readers look it up with the same Metric.
type Metric struct {
	Checker string // name of the checker that reports it; empty: several checkers report it
	Name    string
	Unit    string // unit of the value; empty: a plain count
	Sparse  bool   // whether the checker omits it if there was nothing to count; if omitted, it is 0
}

// Of returns the metric's figure with the given value, in the metric's unit.
func (m Metric) Of(value float64) Figure { return Figure{Name: m.Name, Value: value, Unit: m.Unit} }

// Count returns the metric's figure with the value n.
func (m Metric) Count(n int) Figure { return m.Of(float64(n)) }

// In returns the metric for one client group. The metric's name must contain a fmt verb for the group's number.
func (m Metric) In(group int) Metric {
	m.Name = fmt.Sprintf(m.Name, group)
	return m
}

// Figure returns the metric's value. It returns an error if the metric's checker did not run or omitted the metric. A
// Sparse metric that was omitted is 0, not an error.
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
