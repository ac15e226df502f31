package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/history"
)

// lines returns a history of operations on the lock l, one after the other. An argument is "client kind token outcome".
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
			lines(2, "0 acquire a ok", "2 acquire a ok"),
			"line 3: not a history: client 2, which is worker 0 of 2, is the same worker as client 0 of line 2"},
		{"a retired id, later", lines(2, "0 acquire a info", "2 acquire b ok", "0 acquire a ok"), "the same worker"},
		{"a retired id", lines(2, "0 acquire a info", "0 acquire b ok"), "let its worker continue as client 2"},
		{"somebody else goes on with the lock of a client that retired",
			lines(0, "0 acquire a ok", "0 extend a info", "7 release a ok"), "give the number of workers in meta"},
		{"and acquires it again", lines(0, "0 acquire a ok", "0 extend a info", "7 acquire a ok"),
			`line 4: not a history: client 7 did not acquire "l" with the token "a", but client 0 did`},
		{"and releases it without the token", lines(0, "0 acquire a ok", "0 extend a info", "7 release  ok"),
			`client 7 did not acquire "l" with the token "a"`},
		{"and extends it without the token", lines(0, "0 acquire a ok", "0 extend a info", "7 extend  ok"),
			`client 7 did not acquire "l" with the token "a"`},
		{"the second to retire", lines(0, "0 acquire a ok", "0 add a info", "7 add b info", "8 acquire a ok"),
			"line 5"},
		{"one of two that hold it", lines(0, "0 acquire a ok", "1 acquire b ok", "0 add a info", "1 add a info",
			"7 release a ok"), "but client 0 did"},
		{"who asked for a release", lines(0, "0 acquire a ok", "0 release a info", "7 acquire a ok"),
			"client 0's request with it, whose outcome is info, may still be executed"},
		{"and somebody extends", lines(0, "0 acquire a ok", "0 release a info", "7 extend a ok"),
			"may still be executed"},
		{"who was refused a release", lines(0, "0 acquire a ok", "0 release a fail", "0 add a info", "7 release a ok"),
			"but client 0 did"},
		{"who may have been granted it", lines(0, "0 acquire a info", "7 acquire a ok"), "may still be executed"},
		{"a release without the token", lines(0, "0 acquire a ok", "0 release  ok"), `client 0 acquired "l" with "a"`},
	} {
		t.Run(c.name, func(t *testing.T) { notParsed(t, c.text, c.want) })
	}
	for _, text := range []string{
		lines(2, "0 acquire a ok", "0 extend a info", "2 release a ok", "1 acquire a ok"),
		lines(0, "0 acquire a ok", "0 release a info", "7 release a ok"),
		lines(0, "0 acquire a info", "7 release a fail"),
		lines(0, "0 acquire a ok", "0 extend a info", "7 acquire b ok", "7 release b ok", "8 release c fail"),
		// a second owner, who spoke before
		lines(0, "0 acquire a ok", "7 add b ok", "0 extend a info", "7 acquire a ok", "7 release a ok"),
		lines(0, "0 acquire a ok", "0 extend a info", "7 acquire a fail", "7 acquire a info"),
		lines(0, "0 acquire a ok", "0 release a ok", "0 add a info", "7 acquire a ok"),
		lines(0, "0 acquire a info", "7 acquire b ok", "7 extend b ok"),
		lines(0, "7 add b ok", "0 acquire a info", "7 acquire a ok"), // a second owner, who spoke before
		lines(0, "0 acquire a info", "7 acquire a fail", "7 extend a fail"),
		lines(8, "0 acquire a ok", "0 release a info", "7 acquire a ok"), // eight clients
		lines(0, "0 acquire  ok", "0 release  ok", "1 acquire  fail", "1 release  ok"),
		lines(0, "0 acquire a ok", "0 acquire  ok", "0 release  ok", "0 release a ok"),
		lines(2, "-1 acquire a info", "-1 release a ok", "-1 acquire b ok"),
	} {
		parsed(t, text)
	}
}

// An owner with a new id is recognized by any of its locks, even if it had a thousand.
func TestAnOwnerOfManyLocks(t *testing.T) {
	const n = 1000
	owner := func(then string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{"client":0,"kind":"acquire","key":"l%d","arg":"a","ttl":50000,`+
				`"call":%d,"return":%d,"outcome":"ok"}`+"\n", i, 10*i, 10*i+5)
		}
		fmt.Fprintf(&b, `{"client":0,"kind":"add","key":"s","arg":"1","call":%d,"return":%d,"outcome":"info"}`+"\n",
			10*n, 10*n+5)
		return b.String() + then
	}
	last := func(i int) int { return 10*i + 5 + 50500 } // including the drift
	for _, i := range []int{0, 8, n - 1} {
		for _, kind := range []string{"acquire", "extend", "release"} {
			const line = `{"client":7,"kind":%q,"key":"l%d","arg":"a","call":%d,"return":%d,"outcome":"ok"}` + "\n"
			notParsed(t, owner(fmt.Sprintf(line, kind, i, 10*n+6, 10*n+7)), "if they are one")
			parsed(t, owner(fmt.Sprintf(line, kind, i, last(i)+1, last(n)))) // its lease has ended
		}
	}
}

// An operation that ended in info may still be executed. If it could change what a new client was granted, the history
// has to say whether the two clients are one.
func TestANewClientUnderATokenOfALateOperation(t *testing.T) {
	op := func(client int, kind, token string, ttl, call, ret int, outcome string) string {
		return fmt.Sprintf(`{"client":%d,"kind":%q,"key":"l","arg":%q,"ttl":%d,"call":%d,"return":%d,"outcome":%q}`+
			"\n", client, kind, token, ttl, call, ret, outcome)
	}
	for name, text := range map[string]string{
		"a release": op(0, "acquire", "a", 1000, 0, 10, "ok") + op(0, "release", "a", 0, 20, 30, "info") +
			op(5, "acquire", "a", 1000, 40, 50, "ok") + op(1, "acquire", "b", 1000, 60, 70, "ok"),
		"an extend after a refused release": op(0, "acquire", "a", 1000, 0, 10, "ok") +
			op(0, "release", "a", 0, 20, 30, "fail") +
			op(0, "extend", "a", 10, 31, 35, "info") + op(5, "extend", "a", 1000, 40, 50, "ok") +
			op(1, "acquire", "b", 1000, 100, 110, "ok"),
		"an acquire": op(0, "acquire", "a", 10, 0, 10, "info") + op(5, "extend", "a", 1000, 20, 30, "ok") +
			op(1, "acquire", "b", 1000, 60, 70, "ok"),
		"an extend of a lease that began late": op(0, "acquire", "a", 1000, 0, 500, "ok") +
			op(0, "extend", "a", 10, 510, 520, "info") +
			op(5, "extend", "a", 1000, 1200, 1210, "ok") + op(1, "acquire", "b", 1000, 1300, 1310, "ok"),
		"an extend that may have prolonged the lease": op(0, "acquire", "a", 100, 0, 10, "ok") +
			op(0, "extend", "a", 400, 20, 30, "info") +
			op(5, "extend", "a", 5000, 200, 210, "ok") + op(1, "acquire", "b", 1000, 700, 710, "ok"),
		"a release, long after": op(0, "acquire", "a", 1000, 0, 10, "ok") + op(0, "release", "a", 0, 20, 30, "info") +
			op(5, "acquire", "a", 1000, 90_000, 90_010, "ok") + op(1, "acquire", "b", 1000, 90_020, 90_030, "ok"),
	} {
		t.Run(name, func(t *testing.T) {
			notParsed(t, text, "client 5 did not acquire", "give the number of workers in meta")
			parsed(t, `{"meta":{"workers":5}}`+"\n"+text)
		})
	}
}

// The last instant of a lease assumes that the lease began with the answer, and that the clock drifts.
func TestHowLongALeaseMayLast(t *testing.T) {
	text := func(ttl, at int, extended string) string {
		return fmt.Sprintf(`{"client":0,"kind":"acquire","key":"l","arg":"a","ttl":%d,`+
			`"call":0,"return":500,"outcome":"ok"}`+"\n"+extended+
			`{"client":0,"kind":"acquire","key":"m","call":600,"return":610,"outcome":"info"}`+"\n"+
			`{"client":5,"kind":"extend","key":"l","arg":"a","ttl":1000,"call":620,"return":%d,"outcome":"ok"}`+"\n",
			ttl, at)
	}
	const mayBe = `{"client":0,"kind":"acquire","key":"l","arg":"a","ttl":100,"call":0,"return":10,"outcome":"ok"}` +
		"\n" +
		`{"client":0,"kind":"extend","key":"l","arg":"a","ttl":400,"call":20,"return":30,"outcome":"info"}` + "\n"
	for at, want := range map[int]bool{434: true, 435: false} { // 30 + 400, and the drift
		release := fmt.Sprintf(`{"client":5,"kind":"release","key":"l","arg":"a","call":%d,"return":%d,"outcome":"ok"}`,
			at, at+1)
		_, err := history.Parse(strings.NewReader(mayBe+release), "mine.jsonl", t.TempDir())
		require.Equal(t, want, err != nil, "%d: %v", at, err)
	}
	const prolonged = `{"client":0,"kind":"extend","key":"l","arg":"a","ttl":2000,` +
		`"call":510,"return":520,"outcome":"ok"}` + "\n"
	for _, c := range []struct {
		ttl, last int
		extended  string
	}{
		{1000, 1510, ""}, {1000, 2540, prolonged}, {999_999, 500 + 1_009_999, ""}, {1_000_000, 500 + 2_020_000, ""},
	} {
		notParsed(t, text(c.ttl, c.last, c.extended), "if they are one")
		parsed(t, text(c.ttl, c.last+1, c.extended))
	}
}

// Two operations of one client may overlap only in a widened history, and even there have to be called in order.
func TestOperationsOfOneClientThatOverlap(t *testing.T) {
	text := func(meta string, second int) string {
		return fmt.Sprintf(`{"meta":{"name":"mine"%s}}
{"client":3,"kind":"acquire","key":"l","arg":"b","ttl":1000,"call":20,"return":90,"outcome":"ok"}
{"client":3,"kind":"release","key":"l","arg":"b","call":%d,"return":99,"outcome":"ok"}
`, meta, second)
	}
	parsed(t, text("", 90))
	notParsed(t, text("", 89), "client 3 calls at 89, before its operation in line 2 returned")
	parsed(t, text(`,"widened":true`, 20))
	notParsed(t, text(`,"widened":true`, 19),
		"client 3 calls at 19, before the call of its operation in line 2: a client's widened times have to keep "+
			"its order")
}
