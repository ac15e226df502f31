package granttest

import "flag"

// Flags of every test binary that imports this package, like those of package testing.
var (
	artifactsDir = flag.String("granttest.artifacts", "",
		"keep the reports of search and load in `DIR`/<name of the test>")
	loadSeed   = flag.Uint64("granttest.seed", 0, "repeat the random choices of the load that printed this seed")
	replayFile = flag.String("granttest.replay", "",
		"run only the saved schedule in `FILE`, or that of a recipe (dg1-...)")
)

func isShort() bool {
	f := flag.Lookup("test.short")
	return f != nil && f.Value.String() == "true"
}
