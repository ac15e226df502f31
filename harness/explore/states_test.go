package explore

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Two schedules in which different faults may still happen are in different states.
func TestAStateHasWhatIsLeftOfTheBudget(t *testing.T) {
	m := model.New()
	state := func(left interleave.Budget) []byte {
		ex := &execution{spec: &Spec{}, faults: faults{remaining: left}}
		ex.backend = &recalled{modelled{execution: ex, memory: m, store: m.Empty}}
		return ex.appendState(nil, nil)
	}
	for i := range reflect.TypeFor[interleave.Budget]().NumField() {
		var left interleave.Budget
		field := reflect.TypeOf(left).Field(i).Name
		if field == "Clients" || field == "Place" { // equal in all schedules of a part
			continue
		}
		reflect.ValueOf(&left).Elem().Field(i).SetInt(1)
		require.NotEqual(t, state(interleave.Budget{}), state(left), field)
	}
}

// stateCase is a schedule of two clients, run from memory, whose state is computed.
type stateCase struct {
	*execution
	recalled *recalled
	asleep   []*schedule.Move
}

// newStateCase returns a schedule in which client 1 has acquired the lock and client 2 is about to.
func newStateCase() *stateCase {
	m := model.New()
	spec := &Spec{Program: interleave.Program{Kinds: []harness.Kind{harness.Acquire}}}
	ex := &execution{spec: spec, faults: faults{remaining: interleave.Budget{Crashes: 1}},
		virtualTime: virtualTime{now: start}}
	r := &recalled{modelled{execution: ex, memory: m, store: m.Empty, replica: m.Empty}}
	ex.backend = r
	for i := range 2 {
		a := &actor{index: i, ex: ex, mind: &model.Mind{ID: visited.ID{uint64(i)}},
			currentOp: currentOp{inOp: true, callAt: 5 * time.Microsecond}}
		ex.actors, ex.all = append(ex.actors, a), append(ex.all, a)
	}
	ex.path = []interleave.Choice{interleave.Run(0), interleave.Run(0)}
	ex.last, ex.justStepped = ex.actors[0], true
	ex.lateCommands = []lateCommand{
		{client: 0, at: 1, commands: []command.Command{{Raw: []byte("SET k 1")}}, pending: &command.Pending{}}}
	ex.ops = []harness.Op{
		{Client: 1, Kind: harness.Acquire, Key: "lock", Arg: "client-1", Outcome: harness.OK, Call: time.Microsecond,
			Return: 2 * time.Microsecond, TTL: time.Second},
		{Client: 2, Kind: harness.Release, Key: "lock", Arg: "client-2", Outcome: harness.Fail,
			Call: 3 * time.Microsecond, Return: 4 * time.Microsecond},
	}
	return &stateCase{ex, r, []*schedule.Move{{Choice: interleave.Run(1)}, {Choice: interleave.Crash(0)}}}
}

func (c *stateCase) state() string {
	return string(c.appendState(c.appendHistory(nil), c.asleep))
}

// Two schedules are in different states if they differ in something that may change what follows. Differences without
// effect do not count.
func TestAStateHasAllThatDecidesWhatFollows(t *testing.T) {
	ms := keyspace.Grain
	for name, c := range map[string]struct {
		change func(*stateCase)
		same   bool
	}{
		"nothing": {func(*stateCase) {}, true},
		"a step more": {func(c *stateCase) {
			c.path = append(c.path, interleave.Run(1))
		}, false},
		"an earlier choice":    {func(c *stateCase) { c.path[0] = interleave.Run(1) }, true},
		"time has just passed": {func(c *stateCase) { c.path[1] = interleave.Pass(0) }, false},
		"time":                 {func(c *stateCase) { c.now += ms }, false},
		"what is stored": {func(c *stateCase) {
			c.recalled.store = c.recalled.store.WithoutScripts(c.recalled.memory)
		}, false},
		"a replica that nobody asks": {func(c *stateCase) {
			c.recalled.replica = c.recalled.replica.WithoutScripts(c.recalled.memory)
		}, true},
		"replication has stopped": {func(c *stateCase) { c.replicationStopped = true }, false},
		"written since":           {func(c *stateCase) { c.wroteSinceStop = true }, false},
		"promoted":                {func(c *stateCase) { c.promoted = true }, false},
		"slowed":                  {func(c *stateCase) { c.slowUsed = true }, false},
		"a TTL was set":           {func(c *stateCase) { c.TTLSet = true }, false},
		"a clock was read":        {func(c *stateCase) { c.ClockRead = true }, false},
		"a lease has ended":       {func(c *stateCase) { c.Expired = true }, false},
		"too many ends":           {func(c *stateCase) { c.TooManyEnds = true }, false},
		"granted for nothing":     {func(c *stateCase) { c.GrantedFree = "client 1's acquire" }, false},
		"a situation": {func(c *stateCase) {
			c.situations = []harness.SituationName{"late command"}
		}, false},
		"who can crash":                       {func(c *stateCase) { c.last = c.actors[1] }, false},
		"which thread took the last step":     {func(c *stateCase) { c.last = &actor{thread: 1} }, false},
		"nobody has just taken a step":        {func(c *stateCase) { c.justStepped = false }, false},
		"who took the last step, no crashes":  {func(c *stateCase) { c.remaining.Crashes, c.last = 0, nil }, false},
		"a late command arrived":              {func(c *stateCase) { c.lateCommands[0].arrived = true }, false},
		"a late command is as late as can be": {func(c *stateCase) { c.lateCommands[0].at = 2 }, false},
		"a late command is later by a step":   {func(c *stateCase) { c.lateCommands[0].at = 0 }, true},
		"whose late command":                  {func(c *stateCase) { c.lateCommands[0].client = 1 }, false},
		"where a late command goes":           {func(c *stateCase) { c.lateCommands[0].node = 1 }, false},
		"which late command": {func(c *stateCase) {
			c.lateCommands[0].commands[0].Raw = []byte("SET k 2")
		}, false},
		"no late command": {func(c *stateCase) { c.lateCommands = nil }, false},
		"a late command's transaction": {func(c *stateCase) {
			c.lateCommands[0].pending.Transaction = []byte("SET k 3")
		}, false},
		"a late command's watched keys": {func(c *stateCase) {
			c.lateCommands[0].watched = []model.Watched{{Name: "k"}}
		}, false},
		"a move that is asleep": {func(c *stateCase) { c.asleep = c.asleep[:1] }, false},
		"another that is asleep": {func(c *stateCase) {
			c.asleep[0] = &schedule.Move{Choice: interleave.Run(0)}
		}, false},
		"the order of those asleep": {func(c *stateCase) {
			c.asleep[0], c.asleep[1] = c.asleep[1], c.asleep[0]
		}, true},
		"what one asleep is": {func(c *stateCase) { c.asleep[0].Ends = true }, false},

		"what a client has read": {func(c *stateCase) {
			c.actors[1].mind = &model.Mind{ID: visited.ID{7}}
		}, false},
		"what a client has read that is done": {func(c *stateCase) {
			c.actors[1].done, c.actors[1].mind = true, &model.Mind{ID: visited.ID{7}}
		}, false},
		"a client has begun":          {func(c *stateCase) { c.actors[1].started = true }, false},
		"a client is cut off":         {func(c *stateCase) { c.actors[1].cutOffUnrecorded = true }, false},
		"a client is in no operation": {func(c *stateCase) { c.actors[1].inOp = false }, false},
		"a client has sent a command": {func(c *stateCase) { c.actors[1].commands = 1 }, false},
		"a client has lost a command": {func(c *stateCase) {
			c.actors[1].unansweredCommand = []byte("SET k 1")
		}, false},
		"a client watches a key": {func(c *stateCase) {
			c.actors[1].watched = []model.Watched{{Name: "k"}}
		}, false},
		"a client sleeps":              {func(c *stateCase) { c.actors[1].wakeAt = start + ms }, false},
		"a client has slept until now": {func(c *stateCase) { c.actors[1].wakeAt = start }, true},
		"a client has slept":           {func(c *stateCase) { c.actors[1].slept = true }, false},
		"an operation began before an end": {func(c *stateCase) {
			c.actors[1].callAt = 3 * time.Microsecond
		}, false},
		"an operation began with an end": {func(c *stateCase) {
			c.actors[1].callAt = 4 * time.Microsecond
		}, false},
		"an operation began later": {func(c *stateCase) {
			c.actors[1].callAt = 6 * time.Microsecond
		}, true},
		"an operation began a millisecond late": {func(c *stateCase) { c.actors[1].callAt += ms }, false},
		"an operation has taken effect": {func(c *stateCase) {
			c.actors[1].tookEffect, c.actors[1].tookEffectAt = true, 5*time.Microsecond
		}, false},

		"one operation less":                {func(c *stateCase) { c.ops = c.ops[:1] }, false},
		"who did an operation":              {func(c *stateCase) { c.ops[1].Client = 1 }, false},
		"a later id of a client":            {func(c *stateCase) { c.ops[1].Client += 3 }, false},
		"the harness did it":                {func(c *stateCase) { c.ops[1].Client = harness.HarnessClient }, false},
		"what an operation was":             {func(c *stateCase) { c.ops[1].Kind = harness.Extend }, false},
		"the key":                           {func(c *stateCase) { c.ops[1].Key = "lock-2" }, false},
		"what was asked for":                {func(c *stateCase) { c.ops[1].Arg = "client-3" }, false},
		"what came of it":                   {func(c *stateCase) { c.ops[1].Result = "7" }, false},
		"an outcome":                        {func(c *stateCase) { c.ops[1].Outcome = harness.Info }, false},
		"an error":                          {func(c *stateCase) { c.ops[1].Err = harness.Held }, false},
		"a lease":                           {func(c *stateCase) { c.ops[0].TTL += ms }, false},
		"a deadline":                        {func(c *stateCase) { c.ops[0].Until = ms }, false},
		"when something was due":            {func(c *stateCase) { c.ops[0].Due = ms }, false},
		"a call, by a millisecond":          {func(c *stateCase) { c.ops[1].Call += ms; c.ops[1].Return += ms }, false},
		"a return, by a millisecond":        {func(c *stateCase) { c.ops[1].Return += ms }, false},
		"a call, by a microsecond":          {func(c *stateCase) { c.ops[1].Call += time.Microsecond }, true},
		"a call before another's end":       {func(c *stateCase) { c.ops[1].Call = time.Microsecond }, false},
		"a call with another's end":         {func(c *stateCase) { c.ops[1].Call = 2 * time.Microsecond }, false},
		"the order in which ends are noted": {func(c *stateCase) { c.ops[0], c.ops[1] = c.ops[1], c.ops[0] }, true},
	} {
		x, y := newStateCase(), newStateCase()
		c.change(y)
		require.Equal(t, c.same, x.state() == y.state(), name)
	}
}

// withThread gives client 2 a second thread.
func withThread(c *stateCase) {
	c.all = append(c.all, &actor{index: 1, thread: 1, ex: c.execution, started: true})
}

// If a checker found something at different steps of two schedules, these are in different states, since one may have
// the shorter counterexample. Checkers judge equal histories only once.
func TestAStateHasWhereSomethingWasFound(t *testing.T) {
	known := newStates(visited.NewTable(false))
	comesAgain := func(overlap bool, at ...time.Duration) bool {
		c := newStateCase()
		c.spec.Checkers = []harness.Checker{checkers.Mutex()}
		c.ops[1] = harness.Op{Client: 2, Kind: harness.Acquire, Key: "lock", Arg: "client-2", Outcome: harness.Fail,
			Call: 3 * time.Microsecond, Return: 4 * time.Microsecond}
		if overlap {
			c.ops[1].Outcome, c.ops[1].TTL = harness.OK, time.Second
			c.ops = append(c.ops, harness.Op{Client: 1, Kind: harness.Release, Key: "lock", Arg: "client-1",
				Outcome: harness.OK, Call: 5 * time.Microsecond, Return: 6 * time.Microsecond},
				harness.Op{Client: 2, Kind: harness.Release, Key: "lock", Arg: "client-2", Outcome: harness.OK,
					Call: 7 * time.Microsecond, Return: 8 * time.Microsecond})
		}
		c.stepTimes = at
		_, again := known.visit(t.Context(), c.execution, nil)
		return again
	}
	early, late := []time.Duration{1, 2}, []time.Duration{1, 5000}
	require.False(t, comesAgain(false, early...))
	require.True(t, comesAgain(false, late...), "nothing was found")
	require.Len(t, known.suspects, 1)
	require.False(t, comesAgain(true, early...))
	require.True(t, comesAgain(true, early...))
	require.False(t, comesAgain(true, late...), "found in the first step, and in the second")
	require.Len(t, known.suspects, 2)
}

// Some differences count only under a condition: what a client has read, for example, as long as it is not done.
func TestAStateHasWhatDecidesBesideOthers(t *testing.T) {
	for name, c := range map[string]struct {
		both, one func(*stateCase)
		same      bool
	}{
		"a client that is done": {
			func(c *stateCase) { c.actors[1].done = true },
			func(c *stateCase) { c.actors[1].mind, c.actors[1].inOp = &model.Mind{ID: visited.ID{7}}, false },
			true,
		},
		"the last step, without crashes": {
			func(c *stateCase) { c.remaining.Crashes = 0 },
			func(c *stateCase) { c.last, c.justStepped = c.actors[1], false },
			true,
		},
		"when an operation took effect, within a millisecond": {
			func(c *stateCase) { c.actors[1].tookEffect, c.actors[1].tookEffectAt = true, 5*time.Microsecond },
			func(c *stateCase) { c.actors[1].tookEffectAt = 6 * time.Microsecond },
			true,
		},
		"when an operation took effect that begins no lease": {
			func(c *stateCase) { c.spec.Program.Kinds = []harness.Kind{harness.Next} },
			func(c *stateCase) { c.actors[1].tookEffect, c.actors[1].slept = true, true },
			true,
		},
		"which of two had ended when a third was called": {
			func(c *stateCase) {
				c.ops[0].Call, c.ops[1].Call, c.ops[1].Return = time.Microsecond, time.Microsecond, 6*time.Microsecond
			},
			func(c *stateCase) { c.ops[0].Return, c.ops[1].Return = c.ops[1].Return, c.ops[0].Return },
			false,
		},
		"when an operation was called that has ended": {
			func(c *stateCase) { c.actors[1].inOp = false },
			func(c *stateCase) { c.actors[1].callAt = time.Microsecond },
			true,
		},
		"what threads have read": {
			withThread,
			func(c *stateCase) { c.actors[1].mind = &model.Mind{ID: visited.ID{7}} },
			false,
		},
		"what threads have read that are done": {
			func(c *stateCase) {
				withThread(c)
				c.actors[1].done, c.all[2].done = true, true
			},
			func(c *stateCase) { c.actors[1].mind = &model.Mind{ID: visited.ID{7}} },
			true,
		},
		"time, within a millisecond, of threads": {
			withThread,
			func(c *stateCase) { c.now += time.Microsecond },
			true,
		},
		"from when a replica hears nothing, within a millisecond": {
			func(c *stateCase) { c.promoted, c.lostFrom = true, 5*time.Microsecond },
			func(c *stateCase) { c.lostFrom = 6 * time.Microsecond },
			true,
		},
		"what a replica holds that will be promoted": {
			func(c *stateCase) { c.replicationStopped = true },
			func(c *stateCase) { c.recalled.replica = c.recalled.replica.WithoutScripts(c.recalled.memory) },
			false,
		},
		"from when a replica hears nothing": {
			func(c *stateCase) { c.promoted, c.lostFrom = true, 5*time.Microsecond },
			func(c *stateCase) { c.lostFrom = 3 * time.Microsecond },
			false,
		},
		"when an operation took effect": {
			func(c *stateCase) { c.actors[1].tookEffect, c.actors[1].tookEffectAt = true, 5*time.Microsecond },
			func(c *stateCase) { c.actors[1].tookEffectAt = 3 * time.Microsecond },
			false,
		},
	} {
		x, y := newStateCase(), newStateCase()
		c.both(x)
		c.both(y)
		c.one(y)
		require.Equal(t, c.same, x.state() == y.state(), name)
	}
}
