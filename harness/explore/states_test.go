package explore

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Two schedules that may still have different faults are in different states: a count that is forgotten would merge them.
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
		if field == "Clients" || field == "Place" { // which are the same in all schedules of a part
			continue
		}
		reflect.ValueOf(&left).Elem().Field(i).SetInt(1)
		require.NotEqual(t, state(interleave.Budget{}), state(left), field)
	}
}
