package checkers

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// pageHead is inserted into porcupine's page, at the end of its head.
//
//go:embed page_head.html
var pageHead string

// pageEnd is inserted into porcupine's page, at the end of its body.
//
//go:embed page_end.html
var pageEnd string

// completePage adds to porcupine's page what readers of our other pages have: use by keyboard, room on narrow screens,
// a dark scheme, and no way to the network.
var completePage = strings.NewReplacer("</head>", pageHead+"</head>", "</body>", pageEnd+"</body>")

// WritePage writes porcupine's page of the anomaly a, as one self-contained HTML file. The page has the operations,
// events such as the end of a lease, and the faults that overlap them. Client ids may be in the hundred thousands, so
// rows are not client ids; each operation names its client. Times are nanoseconds since the start of the run.
//
// Porcupine v1.3.1 puts two of its texts into the page as HTML: the descriptions of a state and of metadata. Both are
// escaped here. The other texts reach the page as text and must not be escaped.
func WritePage(w io.Writer, a harness.Anomaly, meta harness.Meta, faults []harness.Fault) error {
	win, ok := windowOf(a.Class, a.Ops, meta)
	if !ok || len(win.operations) == 0 {
		return fmt.Errorf("checkers: there is no picture of a %s on %q with %d operations", a.Class, a.Key, len(a.Ops))
	}
	assignRows(win.operations)
	_, info := porcupine.CheckOperationsVerbose(win.model, win.operations, certifyWithin)
	info.AddAnnotations(annotations(win.operations, faults))
	var page bytes.Buffer
	if err := porcupine.Visualize(win.model, info, &page); err != nil {
		return fmt.Errorf("checkers: draw %s: %w", a.Class, err)
	}
	if _, err := completePage.WriteString(w, page.String()); err != nil {
		return fmt.Errorf("checkers: draw %s: %w", a.Class, err)
	}
	return nil
}

// assignRows gives each client a row of the page, in order of appearance. Below the clients, each event that no client
// caused, such as the end of a lease, gets a separate row.
func assignRows(steps []porcupine.Operation) {
	byClient := map[int]int{}
	for _, s := range steps {
		if _, seen := byClient[s.ClientId]; !seen && s.ClientId != ruleClient {
			byClient[s.ClientId] = len(byClient)
		}
	}
	below := len(byClient)
	for i, s := range steps {
		if s.ClientId == ruleClient {
			steps[i].ClientId = below
			below++
		} else {
			steps[i].ClientId = byClient[s.ClientId]
		}
	}
}

// annotations lists the faults that overlap the drawn operations, cut to the time span of these operations.
func annotations(steps []porcupine.Operation, faults []harness.Fault) []porcupine.Annotation {
	from, to := steps[0].Call, steps[0].Return
	for _, s := range steps {
		from, to = min(from, s.Call), max(to, s.Return)
	}
	var out []porcupine.Annotation
	for _, f := range faults {
		start, end := int64(f.Start), int64(f.End)
		if f.End == 0 {
			end = to
		}
		if start > to || end < from {
			continue
		}
		out = append(out, porcupine.Annotation{
			Tag: "fault", Description: f.Name, Start: max(start, from), End: min(end, to), Details: faultDetails(f),
			TextColor: "#ffffff", BackgroundColor: "#b3261e",
		})
	}
	return out
}

func faultDetails(f harness.Fault) string {
	whole := "never seen whole again"
	if f.End > 0 {
		whole = fmt.Sprintf("whole at %v", f.End)
	}
	heal := "its heal is not on record"
	if f.Heal > 0 {
		heal = fmt.Sprintf("healing from %v", f.Heal)
	}
	return fmt.Sprintf("%s on %s, from %v, in force from %v, %s, %s: %s",
		f.Name, strings.Join(f.Targets, ", "), f.Start, f.Active, heal, whole, f.Proof)
}

// describeMetadata describes the recorded operation behind an operation of the model, escaped for the page.
func describeMetadata(info any) string {
	op, ok := info.(harness.Op)
	if !ok {
		return ""
	}
	out := fmt.Sprintf("%s, %v to %v, %s", describeOp(op), op.Call, op.Return, op.Outcome)
	if op.TTL > 0 {
		out += fmt.Sprintf(", ttl %v", op.TTL)
	}
	if op.Until > 0 {
		out += fmt.Sprintf(", until %v", op.Until)
	}
	if op.Err != "" {
		out += ", " + op.Err
	}
	return html.EscapeString(out)
}
