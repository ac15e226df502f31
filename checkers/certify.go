package checkers

import (
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// certifyWithin bounds the time porcupine may take for one anomaly. A window of a few operations takes microseconds.
const certifyWithin = time.Second

// certifyOperations bounds the operations in the window of one anomaly, and with them porcupine's memory. Porcupine
// keeps a bit for each operation in each state that it visits. Windows are minimal, usually a handful of operations.
const certifyOperations = 64

// certify asks porcupine about the anomaly a, and reports whether no order of a's operations explains their answers.
// Porcupine may end a lease or window at any time from its earliest end on, and execute an unanswered release at any
// later time. If porcupine runs out of time, certify returns false. It needs only a and meta, so a stored anomaly can
// be certified again.
func certify(a harness.Anomaly, meta harness.Meta) bool {
	w, ok := windowOf(a.Class, a.Ops, meta)
	return ok && len(w.operations) <= certifyOperations && askAgain(func() porcupine.CheckResult {
		return porcupine.CheckOperationsTimeout(w.model, w.operations, certifyWithin)
	}) == porcupine.Illegal
}

// askAgain calls ask, and calls it again if porcupine ran out of time. Time limits follow the wall clock, so a busy
// machine that stands still for a moment can exceed one.
func askAgain(ask func() porcupine.CheckResult) porcupine.CheckResult {
	if said := ask(); said != porcupine.Unknown {
		return said
	}
	return ask()
}

// hasModel reports whether porcupine has a model for the class of a, so that WritePage can draw it.
func hasModel(a harness.Anomaly) bool {
	_, ok := windowOf(a.Class, nil, harness.Meta{})
	return ok
}
