package texttable_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/doublegrant/doublegrant/harness/texttable"
)

func table() *texttable.Table {
	t := &texttable.Table{}
	t.Add("VARIANT", "CLAIM", "HOW")
	t.Add("lock/set-nx-px", "safe on one node", "SET NX PX, and a release that compares before it deletes")
	t.Add("lock/setnx", "nothing", "")
	return t
}

func TestWithoutATerminalLinesAreAsLongAsTheirCells(t *testing.T) {
	var b bytes.Buffer
	require.Zero(t, texttable.Width(&b))
	require.NoError(t, table().Write(&b, 0))
	require.Equal(t, "VARIANT         CLAIM             HOW\n"+
		"lock/set-nx-px  safe on one node  SET NX PX, and a release that compares before it deletes\n"+
		"lock/setnx      nothing\n", b.String())
}

func TestANarrowTerminalGetsCellsThatGoOnBelow(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, table().Write(&b, 60))
	require.Equal(t, "VARIANT         CLAIM             HOW\n"+
		"lock/set-nx-px  safe on one node  SET NX PX, and a release\n"+
		"                                  that compares before it\n"+
		"                                  deletes\n"+
		"lock/setnx      nothing\n", b.String())
}

func TestNothingOfACellIsLostAndNoLineIsTooLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zé/ -]{0,80}`).Draw(t, "text")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		lines := texttable.Wrap(text, width)
		for _, line := range lines {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > width {
				require.NotRegexp(t, `[ /,-].`, line, "a longer line is one piece")
			}
		}
		require.Equal(t, bare(text), bare(strings.Join(lines, "")))
		folded := texttable.Fold("  head ", text, width)
		require.Equal(t, strings.Fields("head "+text), strings.Fields(folded), "no word is broken")
		for line := range strings.Lines(folded) {
			if utf8.RuneCountInString(line) > width+1 {
				require.LessOrEqual(t, len(strings.Fields(line)), 1+strings.Count(line, "head"), "a longer line has one word")
			}
		}
	})
}

func TestATableThatFitsNowhereIsAList(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, table().Write(&b, 20))
	require.Equal(t, "lock/set-nx-px\n"+
		"  claim: safe on one\n"+
		"         node\n"+
		"  how: SET NX PX,\n"+
		"       and a release\n"+
		"       that compares\n"+
		"       before it\n"+
		"       deletes\n"+
		"lock/setnx\n"+
		"  claim: nothing\n", b.String())
	require.NoError(t, new(texttable.Table).Write(&b, 20))
}

func TestRunningTextHasAWidthWithoutATerminal(t *testing.T) {
	require.Equal(t, 80, texttable.Columns(&bytes.Buffer{}))
}
