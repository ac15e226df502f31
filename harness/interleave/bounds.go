package interleave

import "slices"

// Bounds says what may happen in one schedule, as it is asked of a search. A field of 0 means its default; a negative
// one means never. Clients, failovers and flushes cannot be negative.
type Bounds struct {
	// of a schedule, 2 to MaxExhaustive, or at random to MaxClients; default 3
	Clients int `json:"clients,omitempty" yaml:"clients,omitempty" zero:"default"`
	Crashes int `json:"crashes,omitempty" yaml:"crashes,omitempty" zero:"never"` // clients that may crash; default 1
	// times that time may pass beyond the end of a lease, and as often to its last millisecond; default 1
	Expiries int `json:"expiries,omitempty" yaml:"expiries,omitempty" zero:"never"`
	// promotions of a replica that has not heard everything, 0 or 1; default 0
	Failovers int `json:"failovers,omitempty" yaml:"failovers,omitempty"`
	// times that the script cache may be flushed; default 0
	Flushes int `json:"flushes,omitempty" yaml:"flushes,omitempty"`

	// Commands and answers that get lost. If all three are 0, the search has more parts after the first, without
	// crashes, failovers and script flushes:
	//   - one in which time also passes to the last millisecond of a lease, unless there are no expiries. It has two clients
	//     if the first part had more than 3,000 schedules;
	//   - one of two clients with a lost answer;
	//   - one of two clients with a late command;
	//   - where somebody asks for a TTL or a clock, up to two of two clients, in which time also passes to other places in a lease.
	// commands that are executed, whose client gets no answer
	LostAnswers int `json:"lostAnswers,omitempty" yaml:"lostAnswers,omitempty" zero:"never"`
	// commands that are never executed, whose client gets no answer
	LostCommands int `json:"lostCommands,omitempty" yaml:"lostCommands,omitempty" zero:"never"`
	// commands that are executed after their client has gone on without an answer, at most MaxPerKind
	Late int `json:"late,omitempty" yaml:"late,omitempty" zero:"never"`
}

// Bound is one field of Bounds, and how users write it.
type Bound struct {
	Flag    string // name in command lines
	N       *int   // the field
	Default int    // what the help of the flag shows
	Help    string // of the flag
	Never   bool   // users write 0 for never; the field has the tag zero:"never" for files
	Apart   bool   // if all such fields are 0, the search has parts of its own for them

	budget *int // the same count of a budget
}

// Fields lists the fields of b in their order: first the number of clients, then what may go wrong.
func (b *Bounds) Fields() []Bound { return table(b, &Budget{}) }

// table lists the fields of b, each with the count of a budget. A new field needs a line here.
func table(b *Bounds, of *Budget) []Bound {
	return []Bound{
		{Flag: "clients", N: &b.Clients, budget: &of.Clients, Default: 3,
			Help: "clients that race, 2 to 4; at random to 16"},
		{Flag: "crashes", N: &b.Crashes, budget: &of.Crashes, Default: 1, Never: true,
			Help: "how many of them may crash"},
		{Flag: "expiries", N: &b.Expiries, budget: &of.Expiries, Default: 1, Never: true,
			Help: "how often time may pass beyond the end of a lease"},
		{Flag: "failovers", N: &b.Failovers, budget: &of.Failovers,
			Help: "how often a replica that has not heard everything may be promoted: 0 or 1"},
		{Flag: "flushes", N: &b.Flushes, budget: &of.Flushes, Help: "how often the script cache may be flushed"},
		{Flag: "lost-answers", N: &b.LostAnswers, budget: &of.LostAnswers, Default: 1, Never: true, Apart: true,
			Help: "how many commands may be executed without an answer to their client (default: 1 in a part of its own)"},
		{Flag: "lost-commands", N: &b.LostCommands, budget: &of.LostCommands, Never: true, Apart: true,
			Help: "how many commands may get lost on their way"},
		{Flag: "late", N: &b.Late, budget: &of.Late, Default: 1, Never: true, Apart: true,
			Help: "how many commands may be executed when their client has gone on (default: 1 in a part of its own)"},
	}
}

// Set sets the field to the number that a user has written.
func (b Bound) Set(n int) {
	if *b.N = n; b.Never && n == 0 {
		*b.N = -1
	}
}

// EveryPart reports whether the search has parts of its own for what gets lost: see LostAnswers.
func (b Bounds) EveryPart() bool {
	return !slices.ContainsFunc(b.Fields(), func(f Bound) bool { return f.Apart && *f.N != 0 })
}

// OrDefaults returns b with the defaults in place of 0, and 0 in place of never. What gets lost stays, since it decides
// on the parts.
func (b Bounds) OrDefaults() Bounds {
	for _, f := range b.Fields() {
		switch {
		case f.Apart:
		case *f.N == 0:
			*f.N = f.Default
		case f.Never:
			*f.N = max(0, *f.N)
		}
	}
	return b
}

// Budget returns the budget of a search's first part. b has its defaults.
func (b Bounds) Budget() (of Budget) {
	for _, f := range table(&b, &of) {
		*f.budget = max(0, *f.N)
	}
	return of
}

// Bounds returns the bounds of a search whose only part has this budget, but for Approaches and Place.
func (b Budget) Bounds() (asked Bounds) {
	for _, f := range table(&asked, &b) {
		f.Set(*f.budget)
	}
	return asked
}
