package checkers

import (
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
)

// certifyWithin bounds the time that porcupine may take for one anomaly. A window of a few operations takes microseconds.
const certifyWithin = time.Second

// certifyOperations bounds the window of one anomaly, and with it porcupine's memory: it keeps a copy of the window's bits for each
// state that it visits. Windows are the smallest that show an anomaly, a handful of steps.
const certifyOperations = 64

// certify has porcupine judge the operations of a alone, together with what may happen by the rules alone: leases and
// windows may end, and releases that were not answered may be executed at any later time. It reports whether no order
// of all that explains them. It needs nothing but a, so a reader of a stored anomaly can ask again.
func certify(a harness.Anomaly, meta harness.Meta) bool {
	w, ok := windowOf(a.Class, a.Ops, meta)
	return ok && len(w.operations) <= certifyOperations && askAgain(func() porcupine.CheckResult {
		return porcupine.CheckOperationsTimeout(w.model, w.operations, certifyWithin)
	}) == porcupine.Illegal
}

// askAgain asks again if there was no answer in time: time-outs run on the wall's clock, and of 100,000 windows some are open
// when a busy machine stands still.
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
