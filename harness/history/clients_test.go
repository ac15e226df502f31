package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/history"
)

// lines are operations on the lock l, each given as "client kind token outcome", one after the other, after meta data
// with that many workers.
func lines(workers int, ops ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"meta":{"workers":%d}}`+"\n", workers)
	for i, op := range ops {
		f := strings.Split(op, " ")
		fmt.Fprintf(&b, `{"client":%s,"kind":%q,"key":"l","arg":%q,"call":%d,"return":%d,"outcome":%q}`+"\n",
			f[0], f[1], f[2], 10*i, 10*i+5, f[3])
	}
	return b.String()
}

func TestOperationsAreTheirClients(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"one worker at two places",
			lines(2, "0 acquire a ok", "2 acquire a ok"), "line 3: not a history: client 2, which is worker 0 of 2, speaks, and client 0 of line 2"},
		{"a retired id, later", lines(2, "0 acquire a info", "2 acquire b ok", "0 acquire a ok"), "the same worker"},
		{"a retired id", lines(2, "0 acquire a info", "0 acquire b ok"), "its worker goes on as client 2"},
		{"somebody else goes on with the lock of a client that retired",
			lines(0, "0 acquire a ok", "0 extend a info", "7 release a ok"), "give the number of clients as workers"},
		{"and extends it", lines(0, "0 acquire a ok", "0 add a info", "7 extend a ok"), "line 4"},
		{"a release without the token", lines(0, "0 acquire a ok", "0 release  ok"), `client 0 acquired "l" with "a"`},
	} {
		_, err := history.Parse(strings.NewReader(c.text), "mine.jsonl", t.TempDir())
		require.ErrorIs(t, err, history.ErrText, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	for _, text := range []string{
		lines(2, "0 acquire a ok", "0 extend a info", "2 release a ok", "1 acquire a ok"),
		lines(0, "0 acquire a ok", "0 release a info", "7 release a ok"),
		lines(0, "0 acquire a info", "7 release a fail"),
		lines(0, "0 acquire a ok", "0 extend a info", "7 acquire b ok", "7 release b ok", "8 release c fail"),
		lines(0, "0 acquire a ok", "0 extend a info", "7 acquire a ok", "7 release a ok"),
		lines(0, "0 acquire  ok", "0 release  ok", "1 acquire  fail", "1 release  ok"),
		lines(0, "0 acquire a ok", "0 acquire  ok", "0 release  ok", "0 release a ok"),
		lines(2, "-1 acquire a info", "-1 release a ok", "-1 acquire b ok"),
	} {
		_, err := history.Parse(strings.NewReader(text), "mine.jsonl", t.TempDir())
		require.NoError(t, err, text)
	}
}
