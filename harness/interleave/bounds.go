package interleave

import "slices"

// Bounds is what a search is asked for: how often each thing may happen in one schedule. 0 means the default, and a
// negative number means never. Clients, failovers and flushes cannot be negative.
type Bounds struct {
	// clients of a schedule: 2 to MaxExhaustive, or 2 to MaxClients if schedules are drawn at random; default 3
	Clients int `json:"clients,omitempty" yaml:"clients,omitempty" zero:"default"`
	Crashes int `json:"crashes,omitempty" yaml:"crashes,omitempty" zero:"never"` // clients that may crash; default 1
	// how often time may pass beyond the end of a lease, and also how often it may pass to the last millisecond of a
	// lease; default 1
	Expiries int `json:"expiries,omitempty" yaml:"expiries,omitempty" zero:"never"`
	// promotions of a lagging replica, 0 or 1; default 0
	Failovers int `json:"failovers,omitempty" yaml:"failovers,omitempty"`
	// flushes of the script cache; default 0
	Flushes int `json:"flushes,omitempty" yaml:"flushes,omitempty"`

	// LostAnswers, LostCommands and Late are about commands and answers that get lost. If all three are 0, the first
	// part of the search loses nothing. Further parts follow, without crashes, failovers and script flushes:
	//
	// - one in which time also passes to the last millisecond of a lease, unless there are no expiries. It has two
	//   clients if the first part had more than 3,000 schedules;
	// - one of two clients with a lost answer;
	// - one of two clients with a late command;
	// - if a client reads a TTL or a clock, up to two more parts of two clients, in which time also passes to other
	//   instants within a lease.
	//
	// LostAnswers counts commands that are executed without an answer to their client.
	LostAnswers int `json:"lostAnswers,omitempty" yaml:"lostAnswers,omitempty" zero:"never"`
	// commands that are never executed, without an answer to their client
	LostCommands int `json:"lostCommands,omitempty" yaml:"lostCommands,omitempty" zero:"never"`
	// commands that are executed after their client has gone on without an answer, at most MaxPerKind
	Late int `json:"late,omitempty" yaml:"late,omitempty" zero:"never"`
}

// Bound is one field of Bounds, with what users write to set it.
type Bound struct {
	Flag         string // name of the flag
	N            *int   // points to the field of Bounds
	Default      int    // default in the flag's help
	Help         string // help of the flag
	Never        bool   // users write 0 for "never"; for files, the tag zero:"never" says the same
	SeparatePart bool   // if all fields with SeparatePart are 0, the search has separate parts for them

	budget *int // the corresponding count of a budget
}

// Fields lists the fields of b in order: the number of clients, then what may go wrong.
func (b *Bounds) Fields() []Bound { return table(b, &Budget{}) }

// table lists the fields of b. Each comes with the corresponding count of the budget that is the second parameter. Add
// a line for each new field.
func table(b *Bounds, of *Budget) []Bound {
	return []Bound{
		{Flag: "clients", N: &b.Clients, budget: &of.Clients, Default: 3,
			Help: "clients that race, 2 to 4; at random to 16"},
		{Flag: "crashes", N: &b.Crashes, budget: &of.Crashes, Default: 1, Never: true,
			Help: "how many clients may crash"},
		{Flag: "expiries", N: &b.Expiries, budget: &of.Expiries, Default: 1, Never: true,
			Help: "how often time may pass beyond the end of a lease"},
		{Flag: "failovers", N: &b.Failovers, budget: &of.Failovers,
			Help: "how often a replica that lags behind may be promoted: 0 or 1"},
		{Flag: "flushes", N: &b.Flushes, budget: &of.Flushes, Help: "how often the script cache may be flushed"},
		{Flag: "lost-answers", N: &b.LostAnswers, budget: &of.LostAnswers, Default: 1, Never: true, SeparatePart: true,
			Help: "how many commands may be executed while their answers are lost (default: 1, in a separate part " +
				"of the search)"},
		{Flag: "lost-commands", N: &b.LostCommands, budget: &of.LostCommands, Never: true, SeparatePart: true,
			Help: "how many commands may be lost on their way to Redis"},
		{Flag: "late", N: &b.Late, budget: &of.Late, Default: 1, Never: true, SeparatePart: true,
			Help: "how many commands may be executed after their client has gone on (default: 1, in a separate part " +
				"of the search)"},
	}
}

// Set sets the field to a number written by a user.
func (b Bound) Set(n int) {
	if *b.N = n; b.Never && n == 0 {
		*b.N = -1
	}
}

// EveryPart reports whether the search has separate parts for lost and late commands. It has them if no bound for lost
// or late commands was given: see Bounds.LostAnswers.
func (b Bounds) EveryPart() bool {
	return !slices.ContainsFunc(b.Fields(), func(f Bound) bool { return f.SeparatePart && *f.N != 0 })
}

// OrDefaults returns b with the default for each 0, and with 0 for each negative number. Fields with SeparatePart stay
// as they are, since they decide which parts the search has.
func (b Bounds) OrDefaults() Bounds {
	for _, f := range b.Fields() {
		switch {
		case f.SeparatePart:
		case *f.N == 0:
			*f.N = f.Default
		case f.Never:
			*f.N = max(0, *f.N)
		}
	}
	return b
}

// Budget returns the budget of a search's first part. b must have its defaults.
func (b Bounds) Budget() (of Budget) {
	for _, f := range table(&b, &of) {
		*f.budget = max(0, *f.N)
	}
	return of
}

// Bounds returns the bounds of a search whose only part has this budget. The result lacks Approaches and Place, since
// Bounds has no such fields.
func (b Budget) Bounds() (asked Bounds) {
	for _, f := range table(&asked, &b) {
		f.Set(*f.budget)
	}
	return asked
}
