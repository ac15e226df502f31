package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
)

// suiteOf writes a suite's file, then reads and checks it.
func suiteOf(t *testing.T, text string) (Suite, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "suite.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	s, err := Read(path)
	if err == nil {
		err = s.Check()
	}
	return s, err
}

func TestASuiteFileSaysWhereItIsWrong(t *testing.T) {
	const head = "runs:\n  - variant: lock/set-nx-px\n"
	for _, c := range []struct{ text, want string }{
		{"", ":1: the file is empty"},
		{"name: x\n", ":1: no runs: add a list of plans under runs"},
		{"name: x\nruns: []\n", ":2: no runs"},
		{"runs: lock/set-nx-px\n", ":1: runs is a list: begin each entry with a dash"},
		{"runs:\n  - lock/set-nx-px\n", ":2: write fields and their values here"},
		{head + "    colour: red\n", `:3: unknown field "colour": choose one of name, times, variant, script`},
		{head + "    expect: fine\n", `:3: expect is "fine": write valid, documented or {invalid: [double-grant]}`},
		{head + "    expect: [valid]\n", `:3: expect is a list: write valid`},
		{head + "    expect: {}\n", `:3: expect names no class`},
		{head + "    expect:\n      invalid: []\n", `:4: expect names no class`},
		{head + "    expect:\n      invalid:\n        - double-grant\n        - double-grnt\n",
			`:6: unknown class "double-grnt" in invalid: did you mean double-grant?`},
		{head + "    expect: {invalid: [{a: b}]}\n", `:3: unknown class a mapping in invalid`},
		{head + "    expect: {never: [double-grant]}\n", `:3: unknown field "never": choose one of invalid, may`},
		{head + "    expect: invalid: [double-grant]\n",
			`:3: not YAML: mapping values are not allowed in this context: put the text after the first colon into braces`},
		{head + "    expect: {invalid: [duplicate-number]}\n",
			":3: no run of lock/set-nx-px can show duplicate-number: expect one of double-grant, stolen-release, " +
				"stuck-lock"},
		{head + "    expect: {may: [lost-write]}\n", ":3: no run of lock/set-nx-px can show lost-write"},
		{head + "    clients: 1\n    expect: valid\n", ":4: a run of one client is never valid"},
		{head + "    times: -1\n", ":3: -1 times: ask for 1"},
		{head + "    nemesis: kill-primry\n", `:3: unknown fault "kill-primry"`},
		{head + "    name: a\n  - variant: dedup/get-set\n    name: a\n", `:5: two runs have the name "a"`},
		{head + "  - variant: lock/set-nx-px\n", `:3: two runs have the name "lock-set-nx-px"`},
		{"defaults:\n  variant: lock/none\nruns:\n  - name: a\n", `:2: unknown variant "lock/none"`},
		{"defaults:\n  ttl: 1s\nruns:\n  - variant: sequence/incr\n",
			`:2: a ttl is for locks and dedup, and sequence/incr is neither: leave ttl out (in the run "sequence-incr")`},
		{"defaults:\n  colour: red\n", ":2: unknown field"},
	} {
		_, err := suiteOf(t, c.text)
		require.ErrorIs(t, err, plan.ErrUsage, c.text)
		require.ErrorContains(t, err, "suite.yaml"+c.want, c.text)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A run of an adapter that has not described itself yet is checked after it has.
func TestARunOfAnOpenFamilyIsCheckedLater(t *testing.T) {
	const text = "runs:\n  - adapter: {command: [ids]%s}\n    explore: {clients: 2}\n    regime: fixed\n    expect: " +
		"{may: [regression]}\n"
	for as, want := range map[string]string{"": "", ", as: sequence": "", ", as: lock": "a regime is for sequences"} {
		s, err := suiteOf(t, fmt.Sprintf(text, as))
		if want == "" {
			require.NoError(t, err, as)
			require.NoError(t, s.Check(), as)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

func TestDefaultsAreForWhatARunDoesNotSay(t *testing.T) {
	s, err := suiteOf(t, `
runs:
  - variant: lock/set-nx-px
    with: writes/sadd
    expect: {invalid: [double-grant, lost-write], may: stolen-release}
    faults:
      - fault: kill-primary
  - variant: lock/set-nx-px-blind-del
    clients: 7
    expect: documented
  - variant: lock/setnx-expire
defaults: # they may come last
  clients: 30
  duration: 2s
  expect: valid
  faults:
    - fault: pause-primary
    - fault: pause-replica
`)
	require.NoError(t, err)
	require.Equal(t, "suite", s.Name)
	a, b, c := s.Runs[0].Plan, s.Runs[1].Plan, s.Runs[2].Plan
	require.Equal(t, []int{30, 7, 30}, []int{a.Clients, b.Clients, c.Clients})
	require.Equal(t, 2*time.Second, b.Duration)
	require.Len(t, a.Faults, 1, "a list of the run stands in the place of the default")
	require.Len(t, b.Faults, 2)
	require.Equal(t, plan.Expected{
		Invalid: []harness.Class{harness.DoubleGrant, harness.LostWrite}, May: []harness.Class{harness.StolenRelease},
	}, a.Expect)
	require.True(t, b.Expect.IsZero())
	require.Equal(t, plan.Expected{Valid: true}, c.Expect)
}

func TestEveryBuiltInSuiteCanBeRun(t *testing.T) {
	all, err := BuiltIn()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, s := range all {
		require.NoError(t, s.Check(), s.Name)
		require.NotEmpty(t, s.About)
		text, err := Text(s.Name)
		require.NoError(t, err)
		copied, err := suiteOf(t, string(text))
		require.NoError(t, err)
		require.Len(t, copied.Runs, len(s.Runs))
		for _, r := range s.Runs {
			require.True(t, r.Place().Has("expect"), "%s: %s says nothing of what it expects", s.Name, r.Title)
		}
	}
}

func TestOnlyChoosesByName(t *testing.T) {
	s, err := Read("ci")
	require.NoError(t, err)
	some, err := s.Only("INCR|split brain")
	require.NoError(t, err)
	require.Len(t, some.Runs, 2)
	require.Greater(t, len(s.Runs), 2, "the suite itself is left as it is")
	joined := Join(s, some)
	require.Len(t, joined.Runs, len(s.Runs)+2)
	require.Equal(t, "ci: "+s.Runs[0].Title, joined.Runs[0].Title)
}

const everyKindOfRun = `name: all kinds
about: of runs
defaults: {clients: 7, duration: 3s}
runs:
  - {variant: sequence/incr, times: 3, seed: 9, rate: -1}
  - {name: two, script: {as: lock, file: take.lua, args: ['{owner}']}, explore: {crashes: 0, lostAnswers: 1, for: 1m}, expect: valid}
  - {variant: lock/set-nx-px, nemesis: kill-primary, expect: {invalid: [double-grant], may: [lost-write]}}
  - {name: theirs, client: {command: [python3, lock.py]}, ttl: 300ms, clients: 3}
  - {variant: lock/set-nx-px, name: faults, faults: [{fault: kill, host: primary, start: 1s, for: 2s}]}
`

func TestASuiteIsTheSameOnAnotherMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "take.lua"), []byte("return 1\n-- text: '#'"), 0o644))
	file := filepath.Join(dir, "mine.yaml")
	require.NoError(t, os.WriteFile(file, []byte(everyKindOfRun), 0o644))
	for _, name := range append(builtInNames(), file) {
		s, err := Read(name)
		require.NoError(t, err)
		text, err := s.Encode()
		require.NoError(t, err)
		again, err := Decode(text)
		require.NoError(t, err, "%s", text)
		was, err := s.Fingerprint()
		require.NoError(t, err)
		is, err := again.Fingerprint()
		require.NoError(t, err)
		require.Equal(t, was, is, "%s", text)
		require.Equal(t, []any{s.Name, s.About, s.titles(), len(s.Repetitions())},
			[]any{again.Name, again.About, again.titles(), len(again.Repetitions())})
	}
}

func TestASuiteFromElsewhereOpensNoFile(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte("name: x\nruns: [{script: {as: lock, source: return 1, releaseFile: /etc/passwd}}]\n"))
	require.ErrorIs(t, err, plan.ErrUsage)
	require.ErrorContains(t, err, "it names a file")
}

func TestWhichRunsAreCode(t *testing.T) {
	t.Parallel()
	s, err := Decode([]byte("name: x\nruns: [{variant: lock/setnx}, {name: s, script: {as: lock, source: return 1}}, " +
		"{name: c, client: {command: [rm]}}, {variant: lock/setnx, name: i, on: docker, image: theirs}]\n"))
	require.NoError(t, err)
	for i, want := range []bool{false, false, true, true} {
		require.Equal(t, want, s.Runs[i].RunsCode(), s.Runs[i].Title)
	}
}

func TestARepetitionHasItsOwnSeedOnEveryMachine(t *testing.T) {
	t.Parallel()
	s, err := Decode([]byte("name: mine\nruns: [{variant: sequence/incr, name: one, times: 3, seed: 7}, {variant: " +
		"lock/setnx, explore: {clients: 2}}]\n"))
	require.NoError(t, err)
	all := s.Repetitions()
	require.Len(t, all, 4)
	for i, r := range all {
		text, err := r.Encode()
		require.NoError(t, err)
		again, err := DecodeRun(text)
		require.NoError(t, err)
		require.Equal(t, r.Title, again.Title)
		require.Equal(t, []uint64{7, 8, 9, 0}[i], again.Seed)
		require.Equal(t, i == 3, again.Explore != nil)
		require.Len(t, Suite{Runs: []Entry{again}}.Repetitions(), 1)
	}
	_, err = DecodeRun([]byte("name: x\nruns: [{variant: lock/setnx}, {variant: lock/setnx, name: b}]\n"))
	require.ErrorContains(t, err, "2 runs instead of one")
}
