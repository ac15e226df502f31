package results

import "flag"

// deep asks for the long form of tests, such as searches of three clients for every variant: see test-deep in the Makefile.
var deep = flag.Bool("deep", false, "search every variant with three clients, and compare the figures of every kind of failover")

// Deep is the flag -deep, for tests of the other package.
var Deep = deep
