package granttest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

func TestASearchHasEveryBound(t *testing.T) {
	var s Search
	var want interleave.Bounds
	for i, b := range want.Fields() {
		*b.N = i + 1
		reflect.ValueOf(&s).Elem().FieldByName(reflect.TypeOf(want).Field(i).Name).SetInt(int64(i + 1))
	}
	require.Equal(t, want, s.bounds())
}
