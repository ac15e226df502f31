package checkers

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

const script = "<script>alert(1)</script>"

// pageData is the part of a page's data that these tests check.
type pageData struct {
	Partitions []struct {
		History []struct {
			ClientId              int
			Description, Metadata string
		}
		PartialLinearizations [][]struct{ StateDescription string }
	}
	Annotations []struct{ Tag, Description, Details string }
}

// drawn returns the page of the only violation in h, and its data.
func drawn(t *testing.T, c harness.Checker, h harness.History) (string, pageData) {
	t.Helper()
	_, found := judge(t, c, h)
	require.Len(t, found, 1)
	require.True(t, hasModel(found[0]))
	var page strings.Builder
	require.NoError(t, WritePage(&page, found[0], h.Meta, h.Faults))
	line := regexp.MustCompile(`const data = (.*)`).FindStringSubmatch(page.String())
	require.NotNil(t, line)
	var data pageData
	require.NoError(t, json.Unmarshal([]byte(line[1]), &data))
	return page.String(), data
}

// Keys, tokens and results come from outside. Where porcupine puts them into the page as HTML, they must be escaped.
func TestPagesCannotBeInjected(t *testing.T) {
	evil := func(op harness.Op) harness.Op {
		op.Key, op.Arg, op.Err = "key "+script, script, script
		return op
	}
	for name, tc := range map[string]struct {
		c harness.Checker
		h harness.History
	}{
		"lock": {Mutex(), of(evil(acquire(0, "", 1, 2, 10)), evil(acquire(1, "", 3, 4, 10)),
			evil(release(0, "", 5, 6)))},
		"dedup":    {Dedup(), of(evil(claim(0, 1, 2, 10)), evil(claim(1, 3, 4, 10)))},
		"sequence": {Sequence(), of(evil(next(0, 1, 2, "1")), evil(next(1, 3, 4, "1")))},
	} {
		t.Run(name, func(t *testing.T) {
			tc.h.Faults = []harness.Fault{{Name: script, Proof: script, Start: 1, End: 3}}
			page, data := drawn(t, tc.c, tc.h)
			require.NotContains(t, page, script)
			texts := 0
			for _, p := range data.Partitions {
				for _, op := range p.History {
					require.NotContains(t, op.Metadata, "<")
					texts += strings.Count(op.Metadata, "&lt;script&gt;")
				}
				for _, l := range p.PartialLinearizations {
					for _, s := range l {
						require.NotContains(t, s.StateDescription, "<")
						texts += strings.Count(s.StateDescription, "&lt;script&gt;")
					}
				}
			}
			require.Positive(t, texts, "the key must be there to be harmless")
		})
	}
}

func TestDraw(t *testing.T) {
	h := of(acquire(300_000, "a", 10, 20, 0), acquire(300_001, "b", 30, 40, 50), release(300_001, "b", 90, 95))
	h.Faults = []harness.Fault{
		{Name: "kill", Targets: []string{"node-1"}, Start: 25, Active: 26, Heal: 28, End: 0, Proof: "the role changed"},
		{Name: "long ago", Start: 1, End: 2},
	}
	_, data := drawn(t, Mutex(), h)
	require.Len(t, data.Partitions, 1)
	var got []string
	for _, op := range data.Partitions[0].History {
		require.Less(t, op.ClientId, 4, "rows are few, whatever the client ids")
		got = append(got, op.Description)
	}
	require.ElementsMatch(t, []string{
		"client 300000: acquire k a -> ok", "client 300001: acquire k b -> ok", "client 300001's lease may end",
	}, got[:3])
	require.Len(t, data.Annotations, 1)
	require.Equal(t, "kill", data.Annotations[0].Description)
	require.Equal(t,
		"kill on node-1, from 25ns, in force from 26ns, healing from 28ns, never seen whole again: the role changed",
		data.Annotations[0].Details)
}

func TestWhatCannotBeDrawn(t *testing.T) {
	for _, class := range []harness.Class{harness.LostWrite, harness.UnexpectedWrite, "made-up"} {
		a := harness.Anomaly{Class: class, Ops: []harness.Op{add(0, 1, 1, 2)}}
		require.False(t, hasModel(a), class)
		require.ErrorContains(t, WritePage(&strings.Builder{}, a, harness.Meta{}, nil),
			"checkers: there is no picture of a "+string(class))
	}
	require.Error(t, WritePage(&strings.Builder{}, harness.Anomaly{Class: harness.DoubleGrant}, harness.Meta{}, nil),
		"no operations")
}

func TestDrawReportsTheWriter(t *testing.T) {
	a := harness.Anomaly{Class: harness.DuplicateNumber, Ops: []harness.Op{next(0, 1, 2, "1")}}
	r, w := io.Pipe()
	require.NoError(t, r.CloseWithError(errors.New("disk full")))
	require.ErrorContains(t, WritePage(w, a, harness.Meta{}, nil), "checkers: draw duplicate-number: disk full")
}

// Clients have rows in order of appearance. Events such as the end of a lease have rows below them.
func TestRowsOfAPage(t *testing.T) {
	steps := []porcupine.Operation{{ClientId: 7}, {ClientId: ruleClient}, {ClientId: 3}, {ClientId: 7},
		{ClientId: ruleClient}}
	assignRows(steps)
	var rows []int
	for _, s := range steps {
		rows = append(rows, s.ClientId)
	}
	require.Equal(t, []int{0, 2, 1, 0, 3}, rows)
}

// A fault is named if it overlaps what is drawn.
func TestFaultsOfAPage(t *testing.T) {
	steps := []porcupine.Operation{{Call: 10, Return: 20}}
	for _, c := range []struct {
		start, end time.Duration
		named      int
	}{{5, 9, 0}, {5, 10, 1}, {20, 30, 1}, {21, 30, 0}, {15, 0, 1}} {
		require.Len(t, annotations(steps, []harness.Fault{{Name: "kill", Start: c.start, End: c.end}}), c.named, "%v",
			c)
	}
	require.Contains(t, faultDetails(harness.Fault{Name: "kill"}), "its heal is not on record")
	require.Contains(t, faultDetails(harness.Fault{Name: "kill", Heal: 5}), "healing from 5ns")
	require.Empty(t, describeMetadata("nothing that was recorded"))
}
