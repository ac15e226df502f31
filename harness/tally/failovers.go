package tally

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Failover holds the durations and the losses of one failover of a run.
type Failover struct {
	// Times has, by name, how long after the failover's cause each stage came, and how long each cost lasted. A time that
	// could not be measured is missing.
	Times map[string]time.Duration `json:"times"`
	// bounds of costs that could not be measured exactly, by name
	Ranges map[string]Range `json:"ranges,omitempty"`
	// violations during the failover, by class; 0: the class was checked, and none was found
	Losses map[string]int `json:"losses,omitempty"`
}

// Range bounds a time that could not be measured exactly.
type Range struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
}

// Unbounded is the Most of a time that has no known upper bound. It is half of the largest Duration, so that the sum of
// two does not overflow.
const Unbounded time.Duration = math.MaxInt64 / 2

// Range returns the bounds of the time with the given name. If it is not known for this failover, the bounds are 0 and
// Unbounded.
func (f Failover) Range(name string) Range {
	if d, ok := f.Times[name]; ok {
		return Range{Least: d, Most: d}
	}
	if r, ok := f.Ranges[name]; ok {
		return r
	}
	return Range{Most: Unbounded}
}

// BoundsOf returns two distributions over the given failovers, for the time with the given name. One is of the lower
// bounds of that time, the other of its upper bounds. If a failover does not show the time, its bounds are 0 and
// Unbounded. BoundsOf panics if there are no failovers.
func BoundsOf(all []Failover, name string) (least, most Distribution) {
	var low, high []time.Duration
	for _, one := range all {
		r := one.Range(name)
		low, high = append(low, r.Least), append(high, r.Most)
	}
	return distributionOf(name, low), distributionOf(name, high)
}

// Figures sums up many failovers. The zero value stands for no failovers.
type Figures struct {
	Failovers int            `json:"failovers"`
	Times     []Distribution `json:"times"` // ordered as the names given to FiguresOf
	// violations per failover, for each class that was checked; ordered by name
	Losses []Mean `json:"losses,omitempty"`
}

// Distribution describes a stage's time or a cost's length over the failovers that show it.
type Distribution struct {
	Name   string        `json:"name"`
	Of     int           `json:"of"` // number of failovers that show this time or cost, at least one
	Min    time.Duration `json:"min"`
	Median time.Duration `json:"median"`
	P90    time.Duration `json:"p90"` // smallest value that nine tenths of the values do not exceed
	Max    time.Duration `json:"max"`
}

// Mean is a mean per failover with its 95 % confidence interval, from Low to High. High is -1 if there is no upper
// bound: after a single failover, or if none had a violation. The next failover may have thousands.
type Mean struct {
	Name string  `json:"name"`
	Of   int     `json:"of"` // number of failovers
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// FiguresOf sums up failovers. It includes the times with the given names, in their order.
func FiguresOf(all []Failover, names []string) Figures {
	if len(all) == 0 {
		return Figures{}
	}
	f := Figures{Failovers: len(all), Times: []Distribution{}}
	for _, name := range names {
		var times []time.Duration
		for _, one := range all {
			if d, ok := one.Times[name]; ok {
				times = append(times, d)
			}
		}
		if len(times) > 0 {
			f.Times = append(f.Times, distributionOf(name, times))
		}
	}
	counts := map[string][]int{}
	for _, one := range all {
		for name, n := range one.Losses {
			counts[name] = append(counts[name], n)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		f.Losses = append(f.Losses, meanOf(name, counts[name]))
	}
	return f
}

func distributionOf(name string, times []time.Duration) Distribution {
	slices.Sort(times)
	n := len(times)
	return Distribution{
		Name: name, Of: n, Min: times[0], Median: (times[(n-1)/2] + times[n/2]) / 2,
		P90: times[int(math.Ceil(0.9*float64(n)))-1], Max: times[n-1],
	}
}

// At returns the distribution with the given name. The result ok is false if no failover shows it.
func (f Figures) At(name string) (d Distribution, ok bool) {
	i := slices.IndexFunc(f.Times, func(d Distribution) bool { return d.Name == name })
	if i < 0 {
		return d, false
	}
	return f.Times[i], true
}

// Share returns an upper bound, with 95 % confidence, on the share of failovers that have any violation. It is valid
// only if none of the failovers that m counts had a violation.
func (m Mean) Share() float64 { return 1 - math.Pow(0.05, 1/float64(m.Of)) }

// meanOf returns the mean of counts, with a confidence interval by Student's t.
func meanOf(name string, counts []int) Mean {
	n, sum, squares := float64(len(counts)), 0.0, 0.0
	for _, c := range counts {
		sum += float64(c)
	}
	m := Mean{Name: name, Of: len(counts), Mean: sum / n}
	for _, c := range counts {
		squares += math.Pow(float64(c)-m.Mean, 2)
	}
	switch {
	case n == 1 || sum == 0:
		m.High = -1
	default:
		half := student(len(counts)-1) * math.Sqrt(squares/(n-1)/n)
		m.Low, m.High = max(0, m.Mean-half), m.Mean+half
	}
	return m
}

// student returns the two-sided 95 % quantile of Student's t distribution. The parameter free is the number of degrees
// of freedom.
func student(free int) float64 {
	small := []float64{
		12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
		2.09, 2.09,
	}
	if free <= len(small) {
		return small[free-1]
	}
	return 1.96 + 2.5/float64(free) // within 0.01
}
