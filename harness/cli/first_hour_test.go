package cli_test

import "testing"

// A mistake that new users easily make is answered with one line that says what they may have meant.
func TestWhatIsEasilyMistakenIsOneLineWithTheRemedy(t *testing.T) {
	refused(t, map[string]string{
		"take.lua":      "return 1",
		"both.yaml":     "runs:\n  - variant: lock/set-nx-px\n    script: {as: lock, file: take.lua}\n    explore: {}\n",
		"both-run.yaml": "variant: lock/set-nx-px\nscript: {as: lock, file: take.lua}\n",
		"words.yaml":    "runs:\n  - {name: a, adapter: {command: python3 mylock.py}, explore: {}}\n",
		"saved.json":    `{"format": 1, "kind": "lock", "again": "go test -run '^TestMyLock$' ./mine", "counterexample": {}}`,
	}, map[string]string{
		"did you mean run?":            "rnu lock/set-nx-px",
		"did you mean lock/set-nx-px,": "run set-nx-px",
		`both the variant "lock/set-nx-px" and a script are given: leave`: "suite @/both.yaml",
		`both.yaml:2: `: "suite @/both.yaml",
		`and a script are given: leave one of them out`:                                "run --plan @/both-run.yaml",
		`a command is a list of words: [python3, mylock.py]`:                           "suite @/words.yaml",
		"is a counterexample of a Go test, which replays it first: go test -run '^Tes": "explore --replay @/saved.json",
	})
}
