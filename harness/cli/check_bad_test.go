package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cli"
)

const acquired = `{"client":1,"kind":"acquire","key":"k","arg":"a","ttl":1000,"call":1,"return":5,"outcome":"ok"}`

// changed returns the history acquired with texts replaced. pairs has each text before its replacement.
func changed(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(acquired) }

// checked runs check on a history, and returns what it printed and its exit code.
func checked(t *testing.T, model, history string) (out, errs string, code int) {
	t.Helper()
	p := newPlace(t)
	return run(t, "check", "--history", p.write("mine.jsonl", history), "--model", model, "--results", p.dir)
}

// An impossible history is wrong usage. One line says what is wrong, where, and what to do.
func TestHistoriesThatCannotBe(t *testing.T) {
	const wholeNumber = "want a whole number, below 2^63"
	for _, c := range []struct{ model, history, want string }{
		// The shape of a file.
		{"lock", "\x00" + acquired, `invalid character '\x00'`},
		{"lock", "\xff\xfe{\x00", "it is UTF-16: write it as UTF-8"},
		{"lock", "\x28\xb5\x2f\xfd", "compressed by zstd: unpack it and pass"},
		{"lock", strings.Repeat(`{"a":`, 200_000), "exceeded max depth"},
		{"lock", acquired + "\n" + changed(`"k"`, strings.Repeat(`{"a":`, 20_000)),
			"line 2: not a history: exceeded max depth"},
		{"lock", acquired + "\n" + changed(`"k"`, `"`+strings.Repeat("x", 17<<20)+`"`),
			"line 2: not a history: it is longer than 16777216 bytes"},
		// The first line.
		{"lock", acquired + "\n" + `{"cut":"x"}`, "meta, faults and cut are for a first line of their own"},
		{"lock", `{"Meta":{}}` + "\n" + acquired, "meta, faults and cut are for a first line of their own"},
		{"lock", `{"meta":{},` + acquired[1:], "each operation is for a line of its own"},
		{"lock", `{"meta":{"Workers":2}}` + "\n" + acquired,
			`line 1: not a history: meta: unknown field "Workers": choose one of name`},
		{"lock", `{"meta":{"workers":2,"workers":2}}` + "\n" + acquired, `meta: the field "workers" appears twice`},
		{"lock", `{"meta":{"labels":{"a":"1","a":"2"}}}` + "\n" + acquired,
			`meta.labels: the field "a" appears twice`},
		{"lock", `{"meta":{"workers":"2"}}` + "\n" + acquired, `"meta.workers": ` + wholeNumber + ", not: string"},
		{"lock", `{"meta":{"seed":-1}}` + "\n" + acquired, `"meta.seed": want a whole number, 0 or more`},
		{"lock", `{"meta":{"started":"now"}}` + "\n" + acquired, `"meta.started": want a time such as`},
		{"lock", `{"meta":{"started":7}}` + "\n" + acquired, `"meta.started": want a time such as`},
		{"lock", `{"meta":{"kinds":["acquired"]}}` + "\n" + acquired,
			`unknown kind "acquired": choose one of acquire, extend`},
		{"lock", `{"meta":{"kinds":[null]}}` + "\n" + acquired, "meta.kinds[0] is null"},
		{"lock", `{"meta":{"drift":1e999}}` + "\n" + acquired, `"meta.drift": want a number`},
		{"lock", `{"meta":[]}` + "\n" + acquired, `"meta": want an object in braces, not: array`},
		{"lock", `{"faults":[null]}` + "\n" + acquired, "faults[0] is null"},
		{"lock", `{"faults":[{"name":"x","Name":"y"}]}` + "\n" + acquired, `faults[0]: unknown field "Name"`},
		{"lock", `{"faults":[{"name":"x","start":5,"heal":4}]}` + "\n" + acquired,
			`the fault "x": its heal at 4 is before its start at 5`},
		{"lock", `{"faults":[{"name":"x","heal":9,"end":8}]}` + "\n" + acquired,
			`the fault "x": its end at 8 is before its heal at 9`},
		{"lock", `{"faults":[{"name":"x","frozen":[-1]}]}` + "\n" + acquired,
			`the fault "x": groups of clients count from 0`},
		// Fields.
		{"lock", changed(`"key":"k"`, `"key":"k","\u006bey":"k"`), `the field "key" appears twice`},
		{"lock", changed(`"key"`, "\"\u212aey\""), "unknown field"}, // which encoding/json takes for "key"
		{"lock", changed(`"client":1`, `"client":null`), `an operation needs "client"`},
		{"lock", changed(`"client":1`, `"client":9223372036854775808`), `"client": ` + wholeNumber},
		// Kinds of another model.
		{"dedup", changed("acquire", "release"),
			`"release" is not a kind of the model dedup, which has claim, confirm, deliver, inspect`},
		{"lock", acquired + "\n" + changed("acquire", "claim", `"ok"`, `"fail"`, `"client":1`, `"client":2`),
			`line 2: not a history: "claim" is not a kind of the model lock, which has acquire, extend, release`},
		{"sequence", changed("acquire", "confirm"),
			`"confirm" is not a kind of the model sequence, which has next, inspect`},
		{"writes", changed("acquire", "next"), `"next" is not a kind of the model writes, which has add, read`},
		{"lock", `{"meta":{"kinds":["next"]}}` + "\n" + acquired,
			`meta has the kinds next, but the model lock has only acquire, extend, release: choose another model`},
		{"sequence", `{"meta":{"kinds":["acquire","release"]}}` + "\n" + changed("acquire", "next"),
			`but the model sequence has only next, inspect`},
		{"mutex", acquired, `unknown model "mutex": choose one of lock, dedup, sequence, writes`},
	} {
		stdout, stderr, code := checked(t, c.model, c.history)
		name := c.history[:min(len(c.history), 300)]
		require.Equal(t, cli.ExitUsage, code, "%q: %s", name, stdout)
		require.Empty(t, stdout, "%q", name)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "%q: %s", name, stderr)
		require.Contains(t, stderr, c.want, "%q", name)
	}
}

// Unusual but correct histories are judged. Each has a double grant, or a single lock that is taken and released.
func TestUnusualHistoriesAreJudged(t *testing.T) {
	other := changed(`"client":1`, `"client":2`, `"a"`, `"b"`)
	for name, c := range map[string]struct {
		lines []string
		want  int
	}{
		"null for what is not there": {[]string{acquired,
			changed(`"client":1`, `"client":2`, `"a"`, `"b"`, `"ttl":1000`, `"ttl":null,"result":null,"err":null`)},
			cli.ExitInvalid},
		"a field's name with escapes": {[]string{acquired, strings.Replace(other, `"key"`, `"\u006bey"`, 1)},
			cli.ExitInvalid},
		"promises of other kinds": {[]string{`{"meta":{"kinds":["acquire","add","read"]}}`, acquired,
			changed(`"client":1`, `"client":2`, `"ok"`, `"fail"`)}, cli.ExitMet},
	} {
		stdout, stderr, code := checked(t, "lock", strings.Join(c.lines, "\n"))
		require.Equal(t, c.want, code, "%s: %s%s", name, stdout, stderr)
	}
}

// Kinds that a model has but does not judge are counted.
func TestWhatIsNotJudgedIsSaid(t *testing.T) {
	claim := changed("acquire", "claim", `"arg":"a"`, `"result":"first"`)
	stdout, stderr, _ := checked(t, "dedup", claim+"\n"+changed("acquire", "deliver", `"client":1`, `"client":2`))
	require.Contains(t, unbroken(stdout), "note 1 operations of the kind deliver were not judged: the model dedup has "+
		"no rule for them ", stderr)
}
