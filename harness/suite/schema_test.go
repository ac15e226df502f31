package suite

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARecordOfALaterVersionIsRefused(t *testing.T) {
	record := `{"suite":{"schema":2,"name":"mine","cases":[{"name":"one"}]}}` + "\n"
	_, err := readRecord(strings.NewReader(record), nil)
	require.ErrorContains(t, err, "line 1: its schema is 2, and this program reads 1: take a newer doublegrant")
	for _, known := range []string{`"schema":1,`, ""} {
		s, err := readRecord(strings.NewReader(strings.Replace(record, `"schema":2,`, known, 1)), nil)
		require.NoError(t, err, "records of versions before 0.1.0 have none")
		require.Len(t, s.out.Cases, 1)
	}
}
