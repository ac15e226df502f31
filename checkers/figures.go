package checkers

import "github.com/doublegrant/doublegrant/harness"

// This file declares every figure that the checkers report. Judged.Figure looks one up, such as
// Figure(checkers.FigureLost). Names and units are part of verdict.json and of pages, so they must not change. A Sparse
// figure is omitted if there was nothing to count.

// The figures, by checker.
var (
	// figures of mutex
	figureGrants   = harness.Metric{Checker: "mutex", Name: "grants"}
	figureCertain  = harness.Metric{Checker: "mutex", Name: "certain holds"}
	figureReleases = harness.Metric{Checker: "mutex", Name: "releases"}
	figureKeys     = harness.Metric{Checker: "mutex", Name: "keys"}
	figureExtends  = harness.Metric{Checker: "mutex", Name: "extends", Sparse: true}

	// figures of owners
	figureExtendsJudged = harness.Metric{Checker: "owners", Name: "extends of known owners"}
	figureReacquired    = harness.Metric{Checker: "owners", Name: "locks lost in silence"}
	figureRefusals      = harness.Metric{Checker: "owners", Name: "refusals of known owners"}
	figureRefusedOwners = harness.Metric{Checker: "owners", Name: "rightful owners refused"}

	// figures of fence
	figureTokens           = harness.Metric{Checker: "fence", Name: "fencing tokens"}
	figureFenceRegressions = harness.Metric{Checker: "fence", Name: "fence regressions"}

	// figures of holders
	figureGuarded        = harness.Metric{Checker: "holders", Name: "guarded writes"}
	figureGuardedRefused = harness.Metric{Checker: "holders", Name: "refused guarded writes"}
	figureLate           = harness.Metric{Checker: "holders", Name: "writes after the lease"}
	figureStale          = harness.Metric{Checker: "holders", Name: "stale writes"}

	// figures of stuck
	figureTried        = harness.Metric{Checker: "stuck", Name: "locks tried"}
	figureStuck        = harness.Metric{Checker: "stuck", Name: "locks stuck"}
	figureProbes       = harness.Metric{Checker: "stuck", Name: "probes"}
	figureInconclusive = harness.Metric{Checker: "stuck", Name: "probes not conclusive"}

	// figures of dedup
	figureMessages      = harness.Metric{Checker: "dedup", Name: "messages"}
	figureDuplicates    = harness.Metric{Checker: "dedup", Name: "duplicates"}
	figureDuplicateRate = harness.Metric{Checker: "dedup", Name: "duplicates per 1000 messages"}
	figureConfirms      = harness.Metric{Checker: "dedup", Name: "confirms", Sparse: true}

	// figures of delivery
	figureAsked        = harness.Metric{Checker: "delivery", Name: "messages asked for"}
	figureOutlived     = harness.Metric{Checker: "delivery", Name: "asked for after their window"}
	figureLooked       = harness.Metric{Checker: "delivery", Name: "marks looked at"}
	figureExcused      = harness.Metric{Checker: "delivery", Name: "not delivered, claims not answered"}
	figureLostMessages = harness.Metric{Checker: "delivery", Name: "lost messages"}
	figureImmortal     = harness.Metric{Checker: "delivery", Name: "immortal marks"}

	// figures of sequence
	figureCalls            = harness.Metric{Checker: "sequence", Name: "calls"}
	figureDuplicateNumbers = harness.Metric{Checker: "sequence", Name: "duplicates"}
	figureRegressions      = harness.Metric{Checker: "sequence", Name: "regressions"}
	figureFirstDuplicate   = harness.Metric{Checker: "sequence", Name: "first duplicate at call"}

	// figures of stored
	figureInspections = harness.Metric{Checker: "stored", Name: "inspections"}
	figureNumbers     = harness.Metric{Checker: "stored", Name: "numbers"}
	figureRestarts    = harness.Metric{Checker: "stored", Name: "restarts"}
	figureNotStored   = harness.Metric{Checker: "stored", Name: "returned, not stored"}
	figureTTLsLost    = harness.Metric{Checker: "stored", Name: "TTLs lost"}

	// figures of writes
	FigureAdded              = harness.Metric{Checker: "writes", Name: "added"}
	FigureLost               = harness.Metric{Checker: "writes", Name: "lost"}
	FigureLostPercent        = harness.Metric{Checker: "writes", Name: "lost percent", Unit: "%"}
	figureUpdates            = harness.Metric{Checker: "writes", Name: "guarded updates", Sparse: true}
	FigureLostUpdates        = harness.Metric{Checker: "writes", Name: "lost updates", Sparse: true}
	figureLostUpdatesPercent = harness.Metric{Checker: "writes", Name: "lost updates percent", Unit: "%"}
	FigureRefused            = harness.Metric{Checker: "writes", Name: "refused"}
	FigureUnknown            = harness.Metric{Checker: "writes", Name: "unknown"}
	FigureRecovered          = harness.Metric{Checker: "writes", Name: "survived unknown"}
	figureGroupAdded         = harness.Metric{Checker: "writes", Name: "acknowledged by group %d", Sparse: true}
	figureGroupLost          = harness.Metric{Checker: "writes", Name: "lost from group %d", Sparse: true}
	figureCutAdded           = harness.Metric{Checker: "writes", Name: "acknowledged by cut groups during partition",
		Sparse: true}
	figureOthersAdded = harness.Metric{Checker: "writes", Name: "acknowledged by other groups during partition",
		Sparse: true}
	figureCutLost    = harness.Metric{Checker: "writes", Name: "lost from cut groups", Sparse: true}
	figureOthersLost = harness.Metric{Checker: "writes", Name: "lost from other groups", Sparse: true}
	figureLostRate   = harness.Metric{Checker: "writes", Name: "lost per second of fault", Unit: "1/s"}
	figureFirstLost  = harness.Metric{Checker: "writes", Name: "first lost write after fault start", Unit: "s"}
	figureLastLost   = harness.Metric{Checker: "writes", Name: "last lost write after fault start", Unit: "s"}

	// figures of gates
	FigureOps        = harness.Metric{Checker: "gates", Name: "ops"}
	figureOK         = harness.Metric{Checker: "gates", Name: "ok"}
	figureFailed     = harness.Metric{Checker: "gates", Name: "fail"}
	FigureUnanswered = harness.Metric{Checker: "gates", Name: "info"}
	figureContended  = harness.Metric{Checker: "gates", Name: "contended ops"}
	figureClockBound = harness.Metric{Checker: "gates", Name: "clocks known to within", Unit: "ms", Sparse: true}

	// figures of porcupine
	figureKeysAsked   = harness.Metric{Checker: "porcupine", Name: "keys asked"}
	figureKeysAgreed  = harness.Metric{Checker: "porcupine", Name: "keys agreed"}
	figureKeysIllegal = harness.Metric{Checker: "porcupine", Name: "keys illegal"}
	figureKeysLarge   = harness.Metric{Checker: "porcupine", Name: "keys too large"}
	figureKeysSlow    = harness.Metric{Checker: "porcupine", Name: "keys too slow"}

	// figures of several checkers: how many violations porcupine certified
	figureCertified    = harness.Metric{Name: "certified", Sparse: true}
	figureCertifyAsked = harness.Metric{Name: "asked to certify", Sparse: true}
)
