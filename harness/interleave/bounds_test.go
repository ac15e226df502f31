package interleave

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every field has a row in the table, with its name for users.
func TestTheTableHasEveryBound(t *testing.T) {
	var b Bounds
	var of Budget
	rows := table(&b, &of)
	v := reflect.ValueOf(&b).Elem()
	require.Len(t, rows, v.NumField())
	for i, row := range rows {
		f := v.Type().Field(i)
		require.Same(t, v.Field(i).Addr().Interface(), row.N, f.Name)
		require.Same(t, reflect.ValueOf(&of).Elem().FieldByName(f.Name).Addr().Interface(), row.budget, f.Name)
		require.Equal(t, f.Tag.Get("json"), f.Tag.Get("yaml"))
		name, _ := strings.CutSuffix(f.Tag.Get("json"), ",omitempty")
		require.Equal(t, strings.ToLower(f.Name), strings.ToLower(name))
		require.Equal(t, strings.ToLower(f.Name), strings.ReplaceAll(row.Flag, "-", ""))
		require.Equal(t, f.Tag.Get("zero") == "never", row.Never, f.Name)
	}
}

func TestBoundsOfABudget(t *testing.T) {
	for _, b := range []Bounds{
		{Clients: 2, Crashes: 3, Expiries: 4, Failovers: 1, Flushes: 5, LostAnswers: 6, LostCommands: 7, Late: 8},
		{Clients: 2, Crashes: -1, Expiries: -1, LostAnswers: -1, LostCommands: -1, Late: -1},
	} {
		require.Equal(t, b, b.Budget().Bounds())
	}
	require.Equal(t, Budget{Clients: 2, Crashes: 1}, Bounds{Clients: 2, Crashes: 1, Expiries: -5, Late: -1}.Budget())
}

func TestASearchHasEveryPartUnlessAskedForOne(t *testing.T) {
	require.True(t, Bounds{}.EveryPart())
	require.True(t, Bounds{Clients: 3, Crashes: 2}.EveryPart())
	for _, b := range []Bounds{{LostAnswers: 1}, {LostCommands: -1}, {Late: 2}} {
		require.False(t, b.EveryPart(), b)
	}
}

func TestDefaultsOfBounds(t *testing.T) {
	usual := Bounds{}.OrDefaults()
	for _, f := range usual.Fields() {
		if !f.SeparatePart {
			require.Equal(t, f.Default, *f.N, f.Flag)
		}
	}
	asked := Bounds{Clients: 7, Crashes: -1, Expiries: 5, LostAnswers: -1}.OrDefaults()
	require.Equal(t, []int{7, 0, 5, -1, 0},
		[]int{asked.Clients, asked.Crashes, asked.Expiries, asked.LostAnswers, asked.Late})
}
