package checkers

import (
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// certifyWithin bounds the time porcupine may take for one anomaly. A window of a few operations takes microseconds.
const certifyWithin = time.Second

// certifyOperations bounds the window of one anomaly and with it porcupine's memory: porcupine keeps a copy of the
// window's bits for each state that it visits. Windows are minimal, usually a handful of steps.
const certifyOperations = 64

// certify asks porcupine whether any legal order explains the operations of a, and reports whether there is none.
// Leases and windows may end, and unanswered releases may be executed at any later time. It needs only a, so a reader
// of a stored anomaly can ask again.
func certify(a harness.Anomaly, meta harness.Meta) bool {
	w, ok := windowOf(a.Class, a.Ops, meta)
	return ok && len(w.operations) <= certifyOperations && askAgain(func() porcupine.CheckResult {
		return porcupine.CheckOperationsTimeout(w.model, w.operations, certifyWithin)
	}) == porcupine.Illegal
}

// askAgain asks a second time if the first try timed out. Time-outs follow the wall clock, so some strike when a busy
// machine stands still.
func askAgain(ask func() porcupine.CheckResult) porcupine.CheckResult {
	if said := ask(); said != porcupine.Unknown {
		return said
	}
	return ask()
}

// hasModel reports whether porcupine has a model for the class of a, so that Draw can draw it.
func hasModel(a harness.Anomaly) bool {
	_, ok := windowOf(a.Class, nil, harness.Meta{})
	return ok
}
