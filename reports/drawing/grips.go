package drawing

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// never is the index of a step that does not come.
const never = -1

// grip is a client's hold of a lock. Times are indexes of steps.
type grip struct {
	client  int // from 0
	key     string
	from    int  // the step whose reply granted it
	lease   int  // the step in which the lease ends, or never
	to      int  // the step in which the client begins to give the lock up, crashes, or gets it anew; or never
	renewed bool // the client gets the lock anew at to
}

// answers returns for each operation of a counterexample the step that completed it, or never. Times alone cannot tell, since an
// operation that sends nothing has no step; so it goes through the steps of each client in order.
func (c Story) answers() []int {
	rows := make([]int, len(c.Ops))
	next := map[int]int{} // by client: the first step that no earlier operation has taken
	for i, op := range c.Ops {
		client := c.client(op.Client)
		rows[i] = answer(c.Steps, next[client], client, op)
		if rows[i] != never {
			next[client] = rows[i] + 1
		}
	}
	return rows
}

// answer returns the first step of op, from next on, after which its client believes something, or else the last step of op.
func answer(steps []interleave.Step, next, client int, op harness.Op) int {
	row := never
	for i := next; i < len(steps); i++ {
		s := steps[i]
		if s.Client != client+1 || s.Choice.IsCrash() || s.At < op.Call {
			continue
		}
		if s.At > op.Return {
			break
		}
		if row = i; s.Belief != "" {
			break
		}
	}
	return row
}

// grips derives from the operations of a counterexample which client held which lock, and when.
func (c Story) grips() []grip {
	var all []grip
	rows := c.answers()
	for i, op := range c.Ops {
		if !takes(op) || rows[i] == never || op.Client < 0 {
			continue
		}
		g := grip{client: c.client(op.Client), key: op.Key, from: rows[i], lease: leaseEnd(c.Steps, rows[i], op)}
		g.to, g.renewed = c.end(rows, i)
		all = append(all, g)
	}
	return all
}

// takes reports whether op gave its client a lock, or renewed it.
func takes(op harness.Op) bool {
	return op.Outcome == harness.OK && (op.Kind == harness.Acquire || op.Kind == harness.Extend)
}

// leaseEnd returns the first step after from in which the lease that op was granted is over, or never.
func leaseEnd(steps []interleave.Step, from int, op harness.Op) int {
	if op.TTL == 0 {
		return never
	}
	end := op.Call + op.TTL
	if op.Until > 0 {
		end = min(end, op.Until)
	}
	for i := from + 1; i < len(steps); i++ {
		after := end // no later step shows how much time a last step lets pass
		if i+1 < len(steps) {
			after = steps[i+1].At
		}
		if steps[i].At >= end || steps[i].Client == 0 && steps[i].Choice.IsTime() && after >= end {
			return i
		}
	}
	return never
}

// end returns the step in which the client lets go of the lock that operation i granted, and whether it gets the lock anew there.
func (c Story) end(rows []int, i int) (step int, renewed bool) {
	client := c.client(c.Ops[i].Client)
	gives, again := c.later(rows, i)
	for k := rows[i] + 1; k < len(c.Steps); k++ {
		s := c.Steps[k]
		own := s.Client == client+1
		if k == again {
			return k, true
		}
		if own && (s.Choice.IsCrash() || gives >= 0 && s.At >= gives) {
			return k, false
		}
	}
	return never, false
}

// later returns what the client of operation i does next with its lock: the time at which it begins to give the lock up, or -1;
// and the step that grants it anew, or never.
func (c Story) later(rows []int, i int) (gives time.Duration, again int) {
	ops := c.Ops
	for j := i + 1; j < len(ops); j++ {
		switch x := ops[j]; {
		case c.client(x.Client) != c.client(ops[i].Client) || x.Key != ops[i].Key:
		case x.Kind == harness.Release:
			return x.Call, never
		case takes(x):
			return -1, rows[j]
		}
	}
	return -1, never
}
