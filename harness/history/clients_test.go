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
		{"and acquires it again", lines(0, "0 acquire a ok", "0 extend a info", "7 acquire a ok"), `line 4: not a history: client 7 did not acquire "l" with the token "a", and client 0 did`},
		{"and releases it without the token", lines(0, "0 acquire a ok", "0 extend a info", "7 release  ok"), `client 7 did not acquire "l" with the token "a"`},
		{"and extends it without the token", lines(0, "0 acquire a ok", "0 extend a info", "7 extend  ok"), `client 7 did not acquire "l" with the token "a"`},
		{"the second to retire", lines(0, "0 acquire a ok", "0 add a info", "7 add b info", "8 acquire a ok"), "line 5"},
		{"one of two that hold it", lines(0, "0 acquire a ok", "1 acquire b ok", "0 add a info", "1 add a info", "7 release a ok"), "and client 0 did"},
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
		lines(0, "0 acquire a ok", "7 add b ok", "0 extend a info", "7 acquire a ok", "7 release a ok"), // a second owner, who spoke before
		lines(0, "0 acquire a ok", "0 extend a info", "7 acquire a fail", "7 acquire a info"),
		lines(0, "0 acquire a ok", "0 release a info", "7 acquire a ok"),
		lines(0, "0 acquire  ok", "0 release  ok", "1 acquire  fail", "1 release  ok"),
		lines(0, "0 acquire a ok", "0 acquire  ok", "0 release  ok", "0 release a ok"),
		lines(2, "-1 acquire a info", "-1 release a ok", "-1 acquire b ok"),
	} {
		_, err := history.Parse(strings.NewReader(text), "mine.jsonl", t.TempDir())
		require.NoError(t, err, text)
	}
}

// An owner that got a new id is known by any of its locks, however many there are, as long as their leases may not be over.
func TestAnOwnerOfManyLocks(t *testing.T) {
	const n = 1000
	owner := func(then string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"client":0,"kind":"acquire","key":"l%d","arg":"a","ttl":50000,"call":%d,"return":%d,"outcome":"ok"}`+"\n", i, 10*i, 10*i+5)
		}
		fmt.Fprintf(&b, `{"client":0,"kind":"add","key":"s","arg":"1","call":%d,"return":%d,"outcome":"info"}`+"\n", 10*n, 10*n+5)
		return b.String() + then
	}
	for _, i := range []int{0, 8, n - 1} {
		for _, kind := range []string{"acquire", "extend", "release"} {
			then := fmt.Sprintf(`{"client":7,"kind":%q,"key":"l%d","arg":"a","call":%d,"return":%d,"outcome":"ok"}`+"\n", kind, i, 10*n+6, 10*n+7)
			_, err := history.Parse(strings.NewReader(owner(then)), "mine.jsonl", t.TempDir())
			require.ErrorContains(t, err, "if they are one", "%s of lock %d", kind, i)
			over := fmt.Sprintf(`{"client":7,"kind":%q,"key":"l%d","arg":"a","call":%d,"return":%d,"outcome":"ok"}`+"\n", kind, i, 10*i+50000, 10*n+50000)
			_, err = history.Parse(strings.NewReader(owner(over)), "mine.jsonl", t.TempDir())
			require.NoError(t, err, "%s of lock %d, when its lease is over", kind, i)
		}
	}
}
