package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// planOf writes a plan's file and reads it.
func planOf(t *testing.T, text string) (Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	p, err := ReadPlan(path)
	if err == nil {
		err = p.Check()
	}
	return p, err
}

func TestAPlanFileSaysWhereItIsWrong(t *testing.T) {
	const head = "variant: lock/set-nx-px\n"
	for _, c := range []struct{ text, want string }{
		{"# only a comment\n", ":1: the file is empty"},
		{head + "clients: [\n", ": not YAML: "},
		{head + "clients: 5\ncalm: [}}\n", ":3: not YAML: did not find expected node content"},
		{head + "with: {a\n\nb: c\n", ":2: not YAML: did not find expected ',' or '}'"}, // where the brace opens
		{head + "client: 3\n", `:2: client is "3": did you mean clients?`},
		{head + "adapter: {command: [a]}\nclient: {command: [a]}\n",
			":3: adapter and client are the same field: leave client out"},
		{head + "script: take.lua\n", `:2: script is "take.lua": write fields and their values here, such as "as: ..."`},
		{head + "topology: sentinal\n", `:2: unknown topology "sentinal": did you mean sentinel?`},
		{head + "---\n" + head, "a second YAML document begins"},
		{head + "nemeses: y\n", `:2: unknown field "nemeses": did you mean nemesis?`},
		{head + "\n\nvariant: lock/setnx\n", ":4: "},
		{head + "clients: many\n", `:2: clients is "many": want a whole number`},
		{head + "clients: 1.5\n", `:2: clients is "1.5": want a whole number`},
		{head + "rate: fast\n", `:2: rate is "fast": want a number`},
		{head + "resource: perhaps\n", `:2: resource is "perhaps": want true or false`},
		{head + "with: {a: b}\n", `:2: with is a mapping: want a list of words`},
		{head + "duration: 10\n", `:2: duration is "10": give a time with its unit, such as 2s or 300ms`},
		{head + "duration: [1s]\n", ":2: duration is "},
		{head + "nemesis: kill-primary\nrepeat: 100000000\n", ":3: repeat 100000000: ask for at most 10000"},
		{head + "faults:\n  - fault: kill-primary\n    times: 100000000\n",
			":4: 100000000 times: ask for at most 10000"},
		{head + "duration: 101h\n", ":2: duration is 101h0m0s: ask for at most 100h0m0s"},
		{head + "ttl: 101h\n", ":2: ttl is 101h0m0s: ask for at most"},
		{head + "calm: 101h\n", ":2: calm is 101h0m0s: ask for at most"},
		{head + "nemesis: kill-primary\nfaultFor: 101h\n", ":3: faultFor is 101h0m0s: ask for at most"},
		{head + "faults:\n  - fault: kill-primary\n    for: 101h\n", ":4: for is 101h0m0s: ask for at most 100h0m0s"},
		{head + "faults:\n  - fault: kill-primary\n    start: 101h\n", ":4: start is 101h0m0s: ask for at most"},
		{head + "faults:\n  - fault: kill-primary\n    times: 2\n    every: 101h\n",
			":5: every is 101h0m0s: ask for at most"},
		{"root:$6$0123456789012345678901234567890123456789: 1\n",
			`:1: unknown field "root:$6$01234567890123456789012345678..."`},
		{head + "topology: ring\n", `:2: unknown topology "ring": choose standalone, sentinel, sentinel:5, masters:5 or external`},
		{head + "topology: masters:40\n", ":2: masters:40: ask for masters:2 to masters:9"},
		{"clients: 5\nvariant: lock/none\n", `:2: unknown variant "lock/none": choose one of lock/setnx`},
		{head + "clients: 0\n", ":2: clients is 0: ask for more than 0, or leave it out"},
		{head + "duration: 0s\n", ":2: duration is 0s: ask for more than 0, or leave it out"},
		{head + "faults:\n  - fault: kill-primary\n    times: 0\n", ":4: times is 0: ask for more than 0"},
		{head + "script:\n  as: lock\n  lua: x\n", `:4: unknown field "lua": choose one of as, name, source`},

		{head + "faults: kill-primary\n", ":2: faults is a list: begin each entry with a dash"},
		{head + "faults:\n  - fault: kill-primary\n    befor: 2s\n",
			`:4: unknown field "befor": choose one of fault, random, start`},
		{head + "faults:\n  - fault: kill-primary\n    for: soon\n", `:4: for is "soon": give a time`},
		{head + "faults:\n  - fault: kill-primary\n    for: -4s\n", ":4: for is -4s: a time cannot be negative"},
		{head + "faults:\n  - fault: kill-primary\n    times: -1\n", ":4: -1 times: ask for 1 or more"},
		{head + "faults:\n  - fault: kill-primary\n    every: 2s\n", ":4: every needs times"},
		{head + "faults:\n  - fault: kill-primary\n    random: [pause-primary]\n",
			":4: an entry has both fault and random"},
		{head + "faults:\n  - fault: kill-primary\n    latency: 5ms\n",
			":4: latency is not a parameter of kill-primary, which takes "},
		{head + "faults:\n  - times: 3\n", ":3: an entry needs a fault"},
		{head + "faults:\n  - random: [pause-primary, flood]\n", `:3: unknown fault "flood"`},
		{head + "faults:\n  - random: [pause-primary]\n    host: r1\n", ":4: host is for a single fault"},
		{head + "nemesis: [kill-primary]\nfaults:\n  - fault: kill-primary\n",
			":2: nemesis is the short form of faults"},
		{head + "faults:\n  - fault: kill-primary\nrepeat: 3\n", ":4: repeat and fault-for need a --nemesis"},
	} {
		_, err := planOf(t, c.text)
		require.ErrorIs(t, err, ErrUsage, c.text)
		require.ErrorContains(t, err, c.want, c.text)
		require.ErrorContains(t, err, "plan.yaml:", c.text)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A timetable may have repeats, parameters, tracks, random faults, a rider and a seed, all in one plan. Written and
// read again, the plan is the same.
func TestATimetableOfEveryKind(t *testing.T) {
	p, err := planOf(t, `
variant: lock/set-nx-px-wait
on: process
topology: sentinel
maxLag: 1s
minReplicas: 1
aof: no
acks: 2
with: writes/sadd          # one word is a list of one
calm: 500ms
faults:
  - fault: kill-primary
    start: 2s
    for: 4s
    times: 2
    every: 3s
  - fault: partition
    sides: split-brain
    how: drop
  - fault: latency
    track: net
    start: 700ms
    from: clients
    to: primary
    latency: 80ms
    jitter: 20ms
    for: 15s
  - random: [kill-primary, pause-primary, partition-isolate-primary, clock-step-forward]
    times: 2
seed: 7
`)
	require.NoError(t, err)
	require.Equal(t, []any{"no", "process", []string{"writes/sadd"}, 2}, []any{p.AOF, p.On, p.With, p.Acks})
	require.Len(t, p.Faults, 4)
	r := resolved(t, p)
	require.Equal(t, "lock-set-nx-px-wait-kill-primary-partition-split-brain-latency-and-1-more", r.Name())
	require.Equal(t, "valid, or invalid: double-grant or lost-write", r.Expectation().String())
	dir := t.TempDir()
	require.NoError(t, r.Plan.Write(dir))
	text, err := os.ReadFile(filepath.Join(dir, File))
	require.NoError(t, err)
	require.Contains(t, string(text), "track: net\n      from: clients\n      to: primary\n      latency: 80ms\n")
	back, err := ReadFolder(dir)
	require.NoError(t, err)
	require.Equal(t, "doublegrant run --plan=plan.yaml", back.Command())
	for _, r := range []Resolved{r, resolved(t, back)} {
		require.Equal(t, "no", r.AOF)
		require.Equal(t, []string{"", "net"}, r.faults.names)
		require.Equal(t, []string{"latency 700ms+15s"}, timesOf(r.faults.tracks["net"]))
		require.Equal(t, []string{
			"kill-primary 2s+4s", "kill-primary 3s+4s", "partition-split-brain 500ms+5s",
			"partition-isolate-primary 500ms+5s", "kill-primary 500ms+5s",
		}, timesOf(r.faults.tracks[""]))
	}
}

// A plan that an earlier version wrote has the adapter under the name client. What is written has the new name.
func TestPlansOfEarlierVersionsNameTheAdapterClient(t *testing.T) {
	was, err := Decode([]byte("client: {command: [python3, mylock.py]}\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"python3", "mylock.py"}, was.Adapter.Command)
	text, err := was.Encode()
	require.NoError(t, err)
	require.Contains(t, string(text), "\nadapter:\n")
	require.NotContains(t, string(text), "\nclient:")
}
