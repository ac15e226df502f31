package explore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Checkpoint is all that a search has found out so far, and all the work that is left of it: for each branch the prefix
// of its schedules, with what sleeps there, the states that are known, and what is left of a round. Its JSON can be
// read by another process, on another machine, whose search goes on as if it had never stopped: the same schedules in
// the same order, the same prunings, the same counterexamples. The zero value is no checkpoint.
//
// What the model knows is no part of it. It is found out again, and decides how a schedule is run, not which. There is
// one exception: a client that draws random numbers in rare places only may look the same each time to the second
// process, which then goes on pruning by states where the first had given that up. Neither is wrong.
type Checkpoint struct{ c checkpoint }

// checkpoint is what a Checkpoint holds.
type checkpoint struct {
	Plan    string            `json:"plan"`             // of the search: see planOf
	Pieces  bool              `json:"pieces,omitempty"` // it goes on in pieces
	Done    bool              `json:"done,omitempty"`   // no work is left
	Elapsed time.Duration     `json:"elapsed"`
	First   time.Duration     `json:"first,omitempty"` // as interleave.Result.First
	Tally   findings.Tally    `json:"tally"`           // of all parts, the one under way included
	Parts   []interleave.Part `json:"parts,omitempty"` // that came to their end
	Memory  string            `json:"memory,omitempty"`
	// why clients do not stand for each other; empty: they do, if the program promises it
	Unlike  string          `json:"unlike,omitempty"`
	Part    *savedPart      `json:"part,omitempty"`  // under way; nil: none
	Drawing *frontier.Round `json:"drawn,omitempty"` // of schedules at random; nil: none are drawn
}

// savedPart is the frontier of a part.
type savedPart struct {
	Budget interleave.Budget `json:"budget"`
	Queue  []frontier.Saved  `json:"queue,omitempty"` // planned, and in no piece
	Known  []byte            `json:"known,omitempty"` // states, in their order
	// pieces of the round under way that are to be done, in their order, without what is known
	Round []Piece `json:"round,omitempty"`
	Fresh []byte  `json:"fresh,omitempty"` // states that pieces of the round have come to
}

// Done reports whether no work is left. Resuming such a search shows its result again.
func (c *Checkpoint) Done() bool { return c.c.Done }

// InPieces reports whether the search works in pieces: see Spec.Pieces.
func (c *Checkpoint) InPieces() bool { return c.c.Pieces }

// Schedules returns the number of schedules that were run and judged.
func (c *Checkpoint) Schedules() int { return c.c.Tally.Schedules }

// MarshalJSON writes the checkpoint.
func (c *Checkpoint) MarshalJSON() ([]byte, error) { return json.Marshal(&c.c) }

// UnmarshalJSON reads a checkpoint. It refuses one that no search can have written.
func (c *Checkpoint) UnmarshalJSON(text []byte) error {
	var read checkpoint
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if p := read.Part; p != nil {
		if err := p.check(); err != nil {
			return fmt.Errorf("explore: a checkpoint with %w", err)
		}
	}
	if d := read.Drawing; d != nil {
		if err := d.Check(); err != nil {
			return fmt.Errorf("explore: a checkpoint with %w", err)
		}
	}
	c.c = read
	return nil
}

func (p *savedPart) check() error {
	if p.Budget.Clients < 2 || p.Budget.Clients > interleave.MaxClients {
		return fmt.Errorf("%d clients", p.Budget.Clients)
	}
	for _, piece := range p.Round {
		if err := frontier.CheckSaved(piece.Items, p.Budget); err != nil {
			return err
		}
	}
	for _, states := range [][]byte{p.Known, p.Fresh} {
		if err := visited.Check(states); err != nil {
			return err
		}
	}
	return frontier.CheckSaved(p.Queue, p.Budget)
}

// planOf returns a hash of all in a spec that decides which schedules there are: of its program's name and properties,
// and of what may happen. Limits are no part of it. The program's code cannot be, nor what is seen of it, such as
// whether it waits for replicas: whoever writes a checkpoint down notes the version beside it.
func planOf(s *Spec) string {
	p := s.Program
	b, err := json.Marshal(struct {
		Name                                            string
		Kinds                                           any
		Lease                                           time.Duration
		Timeless, Symmetric, NoBackgroundWork, Replicas bool
		Retries                                         int
		Gate                                            interleave.Gate
		Clients, Crashes, Expiries, Failovers, Flushes  int
		LostAnswers, LostCommands, Late                 int
		Random                                          *Random
		Skew                                            time.Duration
		Unreduced, Unremembered                         bool
		Observes, Finishes                              bool
	}{
		p.Name, p.Kinds, p.Lease, p.Timeless, p.Symmetric, p.NoBackgroundWork, false, p.Retries, p.Gate,
		s.Clients, s.Crashes, s.Expiries, s.Failovers, s.Flushes, s.LostAnswers, s.LostCommands, s.Late, s.Random,
		s.Skew, s.Unreduced, s.Unremembered,
		p.Observe != nil, p.Finally != nil,
	})
	if err != nil {
		panic(fmt.Sprintf("explore: a spec that is no JSON: %v", err)) // it has numbers and texts only
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checkResume returns an error if the search cannot go on from the spec's checkpoint. Of a promise that did not hold it
// takes leave.
func (s *Spec) checkResume() error {
	if c := s.Resume; c != nil && c.c.Unlike != "" {
		s.Program.Symmetric = false
	}
	switch c := s.Resume; {
	case (c != nil || s.OnCheckpoint != nil) && s.Random != nil && s.Random.Schedules == 0:
		return fmt.Errorf("schedules at random for as long as there is time leave no work that could be counted: say " +
			"how many")
	case c == nil:
		return nil
	case c.c.Plan != planOf(s):
		return fmt.Errorf("the checkpoint is of another program, or of other clients, faults or numbers of them")
	case c.c.Pieces != (s.Pieces != nil):
		return fmt.Errorf("a search goes on as it began, in pieces or not")
	}
	return nil
}

// resume goes on from a checkpoint.
func (s *search) resume(from *Checkpoint) {
	if from == nil {
		return
	}
	c := from.c
	s.seen.Add(c.Tally)
	s.parts = append(s.parts, c.Parts...)
	s.began, s.untilFirst = s.began.Add(-c.Elapsed), c.First
	s.whyForgotten, s.unlike = c.Memory, c.Unlike
	s.resumed = c.Part
	if c.Drawing != nil {
		s.draws.Round = c.Drawing.Clone()
	}
	if s.spec.MaxSchedules > 0 {
		s.spec.MaxSchedules += s.seen.Schedules
	}
}

// checkpoint returns all that the search has found out, and what is left. Nobody works, or merges pieces.
func (s *search) checkpoint(worlds []*world) *Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := checkpoint{
		Plan: planOf(s.spec), Pieces: s.spec.Pieces != nil, Elapsed: time.Since(s.began), First: s.untilFirst,
		Tally:  s.seen.Tally(countStrays(worlds)),
		Memory: s.whyForgotten, Unlike: s.unlike,
	}
	if s.memory != nil {
		c.Memory = s.memory.Broken
	}
	for _, p := range s.parts {
		if p.Exhausted {
			c.Parts = append(c.Parts, p)
		}
	}
	if s.spec.Random != nil {
		next := s.draws.Clone()
		c.Drawing, c.Done = &next, s.stopped == interleave.DrawnAtRandom
		return &Checkpoint{c}
	}
	if len(c.Parts) == len(s.budgets()) {
		c.Done = true
		return &Checkpoint{c}
	}
	if len(c.Parts) < s.part {
		c.Part = s.saveFrontier()
	}
	return &Checkpoint{c}
}

// saveFrontier writes down what is left of the part under way. It may be nothing, if the search was stopped as the part
// came to its end. The caller holds s.mu.
func (s *search) saveFrontier() *savedPart {
	p := savedPart{Budget: s.budget, Queue: s.branches.Save(), Known: visited.Encode(s.states.Sorted())}
	if r := s.round; r != nil {
		p.Round, p.Fresh = r.pieces, visited.Encode(visited.Sort(r.fresh))
	}
	return &p
}
