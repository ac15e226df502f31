package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/history"
)

// respelled lists lines with operations, good and bad, that spell each field and each value in many ways.
func respelled() (all []string) {
	for _, value := range []string{
		`0`, `-0`, `-1`, `7`, `01`, `-`, `+1`, `1.0`, `1e3`, `999999999999999999`, `1000000000000000000`,
		`9223372036854775807`,
		`9223372036854775808`, `-9223372036854775808`, `123456789012345678901234567890`, ` 5 `, "\t5\r", `5 5`, ``,
		`null`, `true`, `"5"`, `{}`, `[]`,
		`{"a":1}`, `"`, `"\"`, `"\\"`, `"k"`, `"\u00e9"`, `"é"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`,
		`"\ud83d\u0041"`, `"\\ud83d"`,
		`"\u12"`, `"\x"`, `"\/\b\f\n\r\t\""`, "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc3\"", "\"a\tb\"", "\"a\x00b\"",
		"\"\x7f\"", `"\u0000"`, `"\ufffd"`,
		`"ok"`, `"fail"`, `"info"`, `"OK"`, `"o\u006b"`, `"next"`, `"nexT"`, `"ne\u0078t"`, `""`, `"k"x`, `"k",`,
		`"` + strings.Repeat("long", 40) + `"`,
	} {
		for _, field := range []string{"client", "kind", "key", "arg", "result", "ttl", "until", "due", "call",
			"return", "outcome", "err"} {
			line := `{"client":1,"kind":"next","key":"s","arg":"a","result":"1","ttl":9,"until":8,"due":3,` +
				`"call":1,"return":5,"outcome":"ok","err":"e"}`
			before, rest, _ := strings.Cut(line, `"`+field+`":`)
			end := strings.IndexAny(rest, ",}")
			all = append(all, before+`"`+field+`":`+value+rest[end:], line[:len(line)-1]+`,"`+field+`":`+value+"}")
		}
	}
	for _, change := range []string{
		`{`, ` { `, `}`, `}}`, `},`, `} x`, "}\r", "}\t ", ``, `{}`, `[]`, "\x00", `"\u006bey"`, `"Key"`, `"KEY"`,
		"\"\u212aey\"", `"kye"`, `"key`, `key`, `"key":"s","key"`,
		`"meta":{},"key"`, `,"key"`,
	} {
		all = append(all, change, strings.Replace(good, "{", change, 1), strings.Replace(good, "}", change, 1),
			strings.Replace(good, `"key"`, change, 1))
	}
	for i := range good {
		all = append(all, good[:i], good[:i]+good[i+1:], good[:i]+" "+good[i:])
	}
	return all
}

// agree requires that the quick reader, if it reads a line, returns the same as the strict one.
func agree(t *testing.T, line string) (quick bool) {
	t.Helper()
	fast, quick := history.NewQuick()([]byte(line))
	if !quick {
		return false
	}
	slow, err := history.Strict([]byte(line))
	require.NoError(t, err, "the quick reader takes %q", line)
	require.Equal(t, slow, fast, "%q", line)
	return true
}

func TestTheQuickReaderReadsWhatTheStrictOneReads(t *testing.T) {
	all, taken := respelled(), 0
	for _, line := range all {
		if agree(t, line) {
			taken++
		}
	}
	require.Greater(t, taken, 100, "most are not sound, and these are")
}

// The quick reader has to accept the lines that most programs write, since it is several times as fast.
func TestLinesOfMostProgramsAreQuick(t *testing.T) {
	for _, line := range []string{
		good, strings.NewReplacer(":", ": ", ",", ", ").Replace(good), good + "\r", " " + good + " ",
		`{"outcome":"info","return":999999999999999999,"call":0,"kind":"acquire","client":-1,"err":""}`,
		strings.Replace(good, `"s"`, `"schlüssel"`, 1),
		strings.Replace(good, `"s"`, `"\u003cs\u003e \ud83d\ude00 \"s\""`, 1),
	} {
		require.True(t, agree(t, line), line)
	}
}

// FuzzQuick compares the quick reader with the strict one.
func FuzzQuick(f *testing.F) {
	for _, line := range respelled() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) { agree(t, line) })
}

// Text that is not Unicode is refused. encoding/json would replace its bytes, so that two different keys became one.
func TestWhatIsNotUnicodeIsRefused(t *testing.T) {
	for _, text := range []string{
		`\ud800`, `\udfff`, `\uD83D`, `\ud800\ud800\udc00`, `\udc00\ud800`, `\ud800\u0041`, `\ud800\n`, `a\ud800`,
		"\xff", "\xc3", "\xed\xa0\x80", "\xc0\x80",
		"\xf5\x80\x80\x80", `\\\ud800`,
	} {
		for _, c := range []struct{ format, line string }{
			{`{"client":1,"kind":"next","key":"%s","call":1,"return":5,"outcome":"ok"}`, "line 1"},
			{`{"client":1,"kind":"%s","call":1,"return":5,"outcome":"fail"}`, "line 1"},
			{`{"%s":1,"client":1,"kind":"next","call":1,"return":5,"outcome":"fail"}`, "line 1"},
			{`{"meta":{"name":"%s"}}` + "\n" + good, "line 1"},
			{`{"meta":{"labels":{"%s":"a"}}}` + "\n" + good, "line 1"},
			{`{"faults":[{"targets":["%s"]}]}` + "\n" + good, "line 1"},
			{`{"cut":"%s"}` + "\n" + good, "line 1"},
			{good + "\n" + good[:1] + `"key":"%s",`, "line 2"},
		} {
			notParsed(t, fmt.Sprintf(c.format, text),
				"mine.jsonl, "+c.line+": not a history: byte ", "write keys, tokens and results as Unicode")
		}
	}
}

func TestUnusualTextIsKept(t *testing.T) {
	for text, want := range map[string]string{
		`\u0000`: "\x00", `\ufffd`: "\ufffd", "\ufffd": "\ufffd", `\ud83d\ude00`: "😀", `\uD83D\uDE00`: "😀",
		`\\ud800`: `\ud800`, `\uffff`: "\uffff", "\x7f": "\x7f",
		`\u00e9`: "é", "e\u0301": "e\u0301", `\ud83d\ude00\ud83d\ude00`: "😀😀", `\/\\\"`: `/\"`, `\u2028`: "\u2028",
	} {
		require.Equal(t, want, read(t, parsed(t, strings.Replace(good, `"s"`, `"`+text+`"`, 1)))[0].Key)
	}
}
