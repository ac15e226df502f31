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

// Checkpoint is the state of a search that can go on later: what it has found, and which schedules are left. Another
// process or machine can read its JSON. It then runs the same schedules in the same order, prunes the same ones and
// finds the same counterexamples. The zero value is not a checkpoint.
//
// What the search has learned for running schedules from memory is not saved, but learned again. It decides only how a
// schedule is run, not which schedules are run. There is one exception. A client that rarely draws a random number may
// look deterministic to the second process. That process then prunes schedules where the first had stopped doing so.
// Both results are right.
type Checkpoint struct{ c checkpoint }

// checkpoint is what a Checkpoint holds.
type checkpoint struct {
	Plan    string            `json:"plan"`             // hash of the search: see planOf
	Pieces  bool              `json:"pieces,omitempty"` // the search is done in pieces
	Done    bool              `json:"done,omitempty"`   // no work is left
	Elapsed time.Duration     `json:"elapsed"`
	First   time.Duration     `json:"first,omitempty"` // see interleave.Result.First
	Tally   findings.Tally    `json:"tally"`           // findings of all parts, including the current one
	Parts   []interleave.Part `json:"parts,omitempty"` // finished parts
	Memory  string            `json:"memory,omitempty"`
	// why clients are not interchangeable, though the program promises it; empty: no reason was found
	Asymmetry string          `json:"unlike,omitempty"`
	Part      *savedPart      `json:"part,omitempty"`  // current part; nil: none
	Drawing   *frontier.Round `json:"drawn,omitempty"` // round of random schedules; nil: none
}

// savedPart is the rest of a search's current part.
type savedPart struct {
	Budget interleave.Budget `json:"budget"`
	Queue  []frontier.Saved  `json:"queue,omitempty"` // planned branches that are in no piece
	Known  []byte            `json:"known,omitempty"` // known states, sorted
	// unfinished pieces of the current round, in order, without the known states
	Round []Piece `json:"round,omitempty"`
	Fresh []byte  `json:"fresh,omitempty"` // new states from finished pieces of the round
}

// Done reports whether no work is left. Resuming such a search returns its result again.
func (c *Checkpoint) Done() bool { return c.c.Done }

// InPieces reports whether the search is done in pieces: see Spec.Pieces.
func (c *Checkpoint) InPieces() bool { return c.c.Pieces }

// Schedules returns the number of schedules that were run and judged.
func (c *Checkpoint) Schedules() int { return c.c.Tally.Schedules }

// MarshalJSON writes the checkpoint.
func (c *Checkpoint) MarshalJSON() ([]byte, error) { return json.Marshal(&c.c) }

// UnmarshalJSON reads a checkpoint. It returns an error for one that no search can have written.
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

// planOf returns a hash of everything in a spec that decides which schedules there are: the program's name and
// properties, and what may happen. It leaves out limits, and what a search finds out by itself, such as that clients
// wait for replicas. It also leaves out the program's code, so a checkpoint has to be stored with the program's
// version.
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
		s.Skew, s.WithoutReduction, s.WithoutMemory,
		p.Observe != nil, p.Finally != nil,
	})
	if err != nil {
		panic(fmt.Sprintf("explore: the spec cannot be written as JSON: %v", err)) // it contains only numbers and texts
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checkResume returns an error if the search cannot continue the spec's checkpoint. It sets Program.Symmetric to false
// if the earlier search has found that clients are not interchangeable.
func (s *Spec) checkResume() error {
	if c := s.Resume; c != nil && c.c.Asymmetry != "" {
		s.Program.Symmetric = false
	}
	switch c := s.Resume; {
	case (c != nil || s.OnCheckpoint != nil) && s.Random != nil && s.Random.Schedules == 0:
		return fmt.Errorf("schedules at random without a number leave no definite work to save: say how many")
	case c == nil:
		return nil
	case c.c.Plan != planOf(s):
		return fmt.Errorf("the checkpoint belongs to another program, or to other clients or faults")
	case c.c.Pieces != (s.Pieces != nil):
		return fmt.Errorf("a search has to continue as it began, in pieces or whole")
	}
	return nil
}

func (s *search) resume(from *Checkpoint) {
	if from == nil {
		return
	}
	c := from.c
	s.seen.Add(c.Tally)
	s.parts = append(s.parts, c.Parts...)
	s.began, s.untilFirst = s.began.Add(-c.Elapsed), c.First
	s.whyForgotten, s.asymmetry = c.Memory, c.Asymmetry
	s.resumed = c.Part
	if c.Drawing != nil {
		s.draws.Round = c.Drawing.Clone()
	}
	if s.spec.MaxSchedules > 0 {
		s.spec.MaxSchedules += s.seen.Schedules
	}
}

// checkpoint returns what the search has found and what is left. The caller makes sure that no worker runs, and that no
// result of a piece is being added.
func (s *search) checkpoint(worlds []*world) *Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := checkpoint{
		Plan: planOf(s.spec), Pieces: s.spec.Pieces != nil, Elapsed: time.Since(s.began), First: s.untilFirst,
		Tally:  s.seen.Tally(countOutOfTurn(worlds)),
		Memory: s.whyForgotten, Asymmetry: s.asymmetry,
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
		c.Part = &savedPart{Budget: s.budget, Queue: s.branches.Save(), Known: visited.Encode(s.states.Sorted())}
		if r := s.round; r != nil {
			c.Part.Round, c.Part.Fresh = r.pieces, visited.Encode(visited.Sort(r.fresh))
		}
	}
	return &Checkpoint{c}
}
