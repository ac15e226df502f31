package workloads

// The operations that an adapter can be asked for, by their names in the protocol of adapters/README.md.
const (
	DoAcquire = "acquire"
	DoExtend  = "extend" // optional
	DoRelease = "release"
	DoClaim   = "claim"
	DoConfirm = "confirm" // optional
	DoNext    = "next"
)

// TrialKey is the name of the lock, message or sequence with which a script or program is tried before it is used.
// Names of the trial's owners begin with it, too.
const TrialKey = "doublegrant-trial"
