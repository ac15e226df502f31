package explore

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// This file writes records to testdata and compares with them. The first line of a record is the server; then it has a
// paragraph for each program.

var update = flag.Bool("update", false, "write the record of a test in testdata anew")

// unsure replaces a word of the recorded results that differed in a second recording, such as a random token. It
// matches any word.
const unsure = "~"

// digest returns the beginning of a hash of v's JSON.
func digest(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	return fmt.Sprintf("%x", sum[:8])
}

// paragraph is the part of the recorded results about one program: lines of words separated by single spaces.
type paragraph struct{ strings.Builder }

func (p *paragraph) add(format string, args ...any) {
	p.WriteString(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ") + "\n")
}

// compareWithRecord compares the results of searches with those recorded in file, or records them. It skips the test on
// another server than the record's, where stored contents and thus the hashes of states differ.
func compareWithRecord(t *testing.T, file string, searchAll func(t *testing.T) []string) {
	server, err := cluster.RedisVersion("")
	require.NoError(t, err)
	if *update {
		writeRecord(t, file, server, searchAll(t), searchAll(t))
		return
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err, "a record is written with -update")
	want := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	if want[0] != server {
		testenv.Noting(t, "the record of searches",
			"it needs "+want[0]).Skipf("it is of %s, and this is %s", want[0], server)
	}
	got := append([]string{server}, searchAll(t)...)
	require.Equal(t, len(want), len(got), "the server and programs")
	for i := range want {
		if common(want[i], got[i], "\n", " ") != want[i] {
			assert.Fail(t, firstDifference(want[i], got[i]), "read it; if it is right: DOUBLEGRANT_TESTS=long go "+
				"test ./harness/explore -run '^%s$' -update", t.Name())
		}
	}
}

// writeRecord writes what two recordings have in common.
func writeRecord(t *testing.T, file, server string, first, second []string) {
	t.Helper()
	require.False(t, t.Failed(), "a search has failed: see above")
	require.Equal(t, len(first), len(second), "programs")
	text := server + "\n"
	for i := range first {
		both := common(first[i], second[i], "\n", " ")
		require.NotEqual(t, unsure, both,
			"leave it out, since it is told in more lines at one time than at another: %s", first[i])
		text += "\n" + both + "\n"
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	t.Logf("%d programs, %d words unsure", len(first), strings.Count(text, unsure))
}

// common returns a with unsure in place of what differs in b. It splits both texts by the first separator, and what
// still differs by the next. Texts that split into different numbers of parts are unsure as a whole.
func common(a, b string, separators ...string) string {
	if a == b {
		return a
	}
	if len(separators) == 0 {
		return unsure
	}
	x, y := strings.Split(a, separators[0]), strings.Split(b, separators[0])
	if len(x) != len(y) {
		return unsure
	}
	for i := range x {
		x[i] = common(x[i], y[i], separators[1:]...)
	}
	return strings.Join(x, separators[0])
}

// firstDifference shows where a program's paragraph has changed.
func firstDifference(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	at := 0
	for at < min(len(a), len(b)) && common(a[at], b[at], " ") == a[at] {
		at++
	}
	from := func(lines []string) string { return strings.Join(lines[at:min(at+6, len(lines))], "\n  ") }
	return fmt.Sprintf("%s\n%d lines are the same. Then was:\n  %s\nand is:\n  %s", b[0], at, from(a), from(b))
}
