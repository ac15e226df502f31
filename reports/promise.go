package reports

import "github.com/doublegrant/doublegrant/harness"

// promises has, for each class of violation, the promise that it breaks.
var promises = map[harness.Class]string{
	harness.DoubleGrant:       "While a client's lease lasts, no other client is granted the same lock.",
	harness.StolenRelease:     "A client gives up its own lock only, and never that of the next owner.",
	harness.StuckLock:         "When every lease has ended, the lock can be acquired again.",
	harness.SilentReacquire:   "An owner that has lost its lock to another is told so when it extends it.",
	harness.RefusedRelease:    "The owner of a lock can extend it and give it up as long as its lease lasts.",
	harness.StaleHolder:       "Nobody writes after its lease when another owner has written.",
	harness.DuplicateDelivery: "Each message is delivered by one worker only.",
	harness.ImmortalMark:      "The mark of a message ends with its window.",
	harness.LostMessage:       "Each message is delivered, by whichever worker.",
	harness.DuplicateNumber:   "Each number is given to one caller only.",
	harness.Regression:        "A number that is drawn later is larger.",
	harness.FenceRegression:   "A fencing token that is granted later is larger.",
	harness.ReturnedNotStored: "The number that a caller gets is the number that is stored.",
	harness.SequenceRestart:   "A sequence never begins again.",
	harness.TTLLost:           "A key that is given a TTL keeps it.",
	harness.LostWrite:         "A write that was acknowledged is still there in the end.",
	harness.UnexpectedWrite:   "A write that was refused for certain is not there.",
	harness.Deadlock:          "A client that waits is woken, or its wait ends.",
	harness.UndeclaredKey:     "A script touches the keys that it declares, and no others.",
}
