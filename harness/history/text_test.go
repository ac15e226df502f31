package history_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/history"
)

const good = `{"client":1,"kind":"next","key":"s","result":"1","call":1,"return":5,"outcome":"ok"}`

// parsed parses a text that is a history.
func parsed(t testing.TB, text string) harness.History {
	t.Helper()
	h, err := history.Parse(strings.NewReader(text), "mine.jsonl", t.TempDir())
	require.NoError(t, err, "%.2000s", text)
	return h
}

// notParsed requires that a text is refused as a history, with these words in the error.
func notParsed(t testing.TB, text string, words ...string) {
	t.Helper()
	_, err := history.Parse(strings.NewReader(text), "mine.jsonl", t.TempDir())
	require.ErrorIs(t, err, history.ErrText, "%.2000s", text)
	for _, want := range words {
		require.ErrorContains(t, err, want, "%.2000s", text)
	}
}

// oneAfterTheOther returns operations by the 7 workers of a run. After an info a worker has a new id.
func oneAfterTheOther(n int) []harness.Op {
	ops, retired := someOps(n), [7]int{}
	for i := range ops {
		worker := i % 7
		ops[i].Client = worker + 7*retired[worker]
		if ops[i].Outcome == harness.Info {
			retired[worker]++
		}
	}
	return ops
}

func TestWhatIsPrintedIsParsed(t *testing.T) {
	ops := oneAfterTheOther(200)
	h := closed(t, write(t, t.TempDir(), ops), &harness.End{At: ops[199].Return})
	var text, again bytes.Buffer
	require.NoError(t, history.Print(&text, h))
	is := parsed(t, text.String())
	require.Equal(t, ops, read(t, is))
	require.Equal(t, h.Meta, is.Meta)
	require.Equal(t, h.Faults, is.Faults)
	require.Equal(t, h.End, is.End)
	require.NoError(t, history.Print(&again, is))
	require.Equal(t, text.String(), again.String())
}

func TestWhatWasCutShortSaysSo(t *testing.T) {
	for _, end := range []*harness.End{nil, {At: 3, Reason: "interrupted"}} {
		var text bytes.Buffer
		require.NoError(t, history.Print(&text, closed(t, write(t, t.TempDir(), oneAfterTheOther(3)), end)))
		require.NotEmpty(t, parsed(t, text.String()).End.Reason)
	}
}

func TestAHistoryNeedsNoFirstLine(t *testing.T) {
	h := parsed(t, good+"\n")
	require.Equal(t, []harness.Op{{Client: 1, Kind: harness.Next, Key: "s", Result: "1", Call: 1, Return: 5,
		Outcome: harness.OK}}, read(t, h))
	require.Equal(t, harness.Meta{Name: "mine.jsonl", Drift: 0.01}, h.Meta)
	require.Equal(t, &harness.End{At: 5}, h.End)
	require.Equal(t, 12345, h.Meta.Worker(12345), "every client is a worker of its own")
}

func TestBadLinesAreNamed(t *testing.T) {
	op := func(change ...string) string { return strings.NewReplacer(change...).Replace(good) }
	for _, c := range []struct{ text, want string }{
		{"", "it has no operations: write one a line"},
		{`{"meta":{}}`, "it has no operations"},
		{"nonsense", "line 1: not a history: invalid character"},
		{good + "\n\n", "line 2: not a history: the line is empty: remove it"},
		{good + "\n \r\n" + good, "line 2: not a history: the line is empty: remove it"},
		{good[:40] + "\n" + good, "line 1: not a history: the line breaks off after 40 bytes: want one JSON object a line; a " +
			"history with a gap"},
		{good + "\n\ufeff" + good, "line 2: not a history: a byte-order mark"},
		{"\ufeff\ufeff" + good, "line 1: not a history: a byte-order mark"},
		{"[" + good + ",\n" + good + "]", "line 1: not a history: a list: want one object a line"},
		{`{"drift":0}` + "\n" + good, `drift is for meta, in the first line: {"meta":{"drift":...}}`},
		{`{"cut":"x","workers":2}` + "\n" + good, `workers is for meta, in the first line`},
		{`{"schema":2,"more":[]}` + "\n" + good, "its schema is 2, and this program reads 1: take a newer doublegrant"},
		{`{"schema":1,"kind":"run","meta":{}}` + "\n" + good, `it is of kind "run", not "history"`},
		{good + good, "line 1: not a history: there is more than one value"},
		{`{"meta":{}}` + "\n" + good + " 7", "line 2: not a history: there is more than one value"},
		{op(`"key"`, `"kye"`), `line 1: not a history: unknown field "kye": choose one of client, kind, key`},
		{`{"meta":{"nmae":""}}`, `line 1: not a history: meta: unknown field "nmae": choose one of name, seed`},
		{`{"meta":null}`, "meta is null"},
		{`{"meta":{"drift":1}}`, "a drift of 1: it has to be from 0"},
		{`{"meta":{"workers":-1}}`, "workers -1, groups 0, clients 0, rate 0: none of them can be negative"},
		{good + "\n" + `{"meta":{}}`, `line 2: not a history: unknown field "meta": choose one of client`},
		{op(`"client":1,`, ""), `needs "client"`},
		{op(`"kind":"next",`, ""), `needs "kind"`},
		{op(`"call":1,`, ""), `needs "call"`},
		{op(`"return":5,`, ""), `needs "return"`},
		{op(`,"outcome":"ok"`, ""), `needs "outcome"`},
		{op(`"ok"`, `"yes"`), `unknown outcome \"yes\"`},
		{op("next", "nxt"), `unknown kind "nxt"`},
		{op(`"client":1`, `"client":-2`), "client -2"},
		{op(`"call":1`, `"call":-1`), `"call" is -1: times are nanoseconds, and cannot be negative`},
		{op(`"call":1`, `"call":1,"due":-7`), `"due" is -7`},
		{op(`"call":1`, `"call":1,"until":-7`), `"until" is -7`},
		{op(`"call":1`, `"call":1,"ttl":-7`), `"ttl" is -7`},
		{op(`"call":1`, `"call":6`), "it returned at 5, before its call at 6"},
		{op(`"call":1`, `"call":1.5`),
			`line 1: not a history: "call": want a whole number of nanoseconds, below 2^63, not: number 1.5`},
		{op(`"result":"1"`, `"result":1`), `"result": want text in quotes, not: number`},
		{op(`"ok"`, `1`), `"outcome": want "ok", "fail" or "info", not: number`},
		{"\x1f\x8b\x08", "it is compressed"},
		{op(`"kind"`, `"Kind"`), `unknown field "Kind"`},
		{op(`"outcome":"ok"`, `"outcome":"fail","outcome":"ok"`), `the field "outcome" appears twice`},
		{`{"meta":{},"meta":{}}` + "\n" + good, `the field "meta" appears twice`},
		{`{"meta":{"workers":10000001}}` + "\n" + good, "want at most 10000000"},
		{`{"meta":{"groups":10000001}}` + "\n" + good, "want at most 10000000"},
		{`{"meta":{"rate":1e300}}` + "\n" + good, "a rate of 1e+300"},
		{`{"meta":{},"faults":[{"name":"kill","heal":-1}]}` + "\n" + good, `the fault "kill"`},
		{op("next", "claim"), `a claim that is ok has the result "first" or "seen", not "1"`},
		{good + "\n" + op(`"return":5`, `"return":4`, `:1,"kind`, `:2,"kind`),
			"line 2: not a history: it returned at 4, before the previous line's 5"},
		{good + "\n" + op(`"return":5`, `"return":9`), "client 1 calls at 1, before its operation in line 1 returned"},
		{op(`"ok"`, `"info"`) + "\n" + op(`"return":5`, `"return":9`, `"call":1`, `"call":7`),
			"client 1 acts again after line 1"},
	} {
		notParsed(t, c.text, strings.ReplaceAll(c.want, `\"`, `"`), "mine.jsonl")
	}
}

// Whether a truncated line is the last one must not depend on how many bytes each Read returns.
func TestALineThatBreaksOffHoweverItComes(t *testing.T) {
	const breaksOff = "line 2: not a history: the line breaks off after 40 bytes: want one JSON object a line; "
	for text, want := range map[string]string{
		good + "\n" + good[:40]:               "if the rest is lost, remove the line and give the reason in the first line: {\"cut\"",
		good + "\n" + good[:40] + "\n":        "if the rest is lost, remove the line and give the reason in the first line: {\"cut\"",
		good + "\n" + good[:40] + "\n" + good: "a history with a gap cannot be judged",
	} {
		for _, as := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
			_, err := history.Parse(as(strings.NewReader(text)), "mine.jsonl", t.TempDir())
			require.ErrorContains(t, err, breaksOff+want)
		}
	}
}

func TestFieldsAreToldFromWhatTheyHold(t *testing.T) {
	key := `a:{b\",\"key\":[\\` // with all characters that have a meaning outside strings
	h := parsed(t, "\ufeff"+strings.Replace(good, `"s"`, `"`+key+`"`, 1)+"\r\n")
	require.Equal(t, `a:{b","key":[\`, read(t, h)[0].Key)
}

func TestTheFirstLineNeedsNoMeta(t *testing.T) {
	h := parsed(t, `{"cut":"power"}`+"\n"+good)
	require.Equal(t, "power", h.End.Reason)
	require.Equal(t, harness.Meta{Name: "mine.jsonl", Drift: 0.01}, h.Meta)
}

// FuzzParse feeds the text reader any input. What it accepts stays the same when it is printed and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(good + "\n"))
	f.Add([]byte(`{"meta":{"name":"x","workers":3},"cut":"why"}` + "\n" + good))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := history.Parse(bytes.NewReader(b), "f", t.TempDir())
		if err != nil {
			return
		}
		var text bytes.Buffer
		require.NoError(t, history.Print(&text, h))
		require.Equal(t, read(t, h), read(t, parsed(t, text.String())))
	})
}
