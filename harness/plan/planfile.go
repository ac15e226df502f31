package plan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
)

// File is the name of the plan's file in a results folder.
const File = "plan.yaml"

// ReadPlan reads a plan from a file or a results folder. The error wraps ErrUsage and gives the number of the wrong
// line. Names are looked up later, by Resolve, whose errors give the line as well.
func ReadPlan(path string) (p Plan, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, File)
	}
	f, err := os.Open(path)
	if err != nil {
		return p, Usagef("no plan: %w: name a plan file, or the results folder of a run", err)
	}
	defer f.Close()
	if err := fields.Read(path, f, &p); err != nil {
		return p, Usagef("%w", err)
	}
	return p, p.ReadScript(path)
}

// ReadFolder reads the plan of a results folder.
func ReadFolder(dir string) (Plan, error) {
	if _, err := os.Stat(filepath.Join(dir, File)); err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return Plan{}, Usagef("%s is not a results folder: %s", dir, notAResultsFolder(dir))
		}
		return Plan{}, Usagef("%s is not a results folder: %w", dir, err)
	}
	return ReadPlan(dir)
}

// notAResultsFolder says why dir is not a results folder, and names the newest results folder beside it.
func notAResultsFolder(dir string) string {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "it is a file: name its folder"
	} else if err == nil {
		return "there is no " + File + " in it"
	}
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", File)) // the pattern is valid
	if len(beside) == 0 {
		return "there is no such folder"
	}
	newest := filepath.Dir(slices.Max(beside)) // their names begin with the time
	return "there is no such folder; the newest folder beside it is " + newest
}

// Encode returns the plan as a file for Decode. Script files are replaced by their texts.
func (p Plan) Encode() ([]byte, error) { return yaml.Marshal(p.WithoutFiles()) }

// Decode reads a plan as strictly as a file.
func Decode(text []byte) (p Plan, err error) {
	if err := fields.Read("the plan", bytes.NewReader(text), &p); err != nil {
		return p, Usagef("%w", err)
	}
	return p, nil
}

// Write writes the plan into the folder dir, as File. Script files are replaced by their texts.
func (p Plan) Write(dir string) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, File), b, 0o644)
}

// Name returns a short name for the run, fit for a file name.
func (p Plan) Name() string {
	variant := p.Variant
	if variant == "" && p.Script != nil {
		variant = "script/" + p.Script.Name
	}
	if variant == "" && p.Adapter != nil {
		variant = p.Adapter.ID()
	}
	parts := []string{FileName(variant)}
	if p.Regime != "" {
		parts = append(parts, p.Regime)
	}
	const most = 3
	faults := p.faultNames()
	if len(faults) > most {
		faults = append(faults[:most:most], fmt.Sprintf("and-%d-more", len(faults)-most))
	}
	return strings.Join(slices.Concat(parts, faults), "-")
}

// faultNames lists the plan's faults, each once, in order of appearance.
func (p Plan) faultNames() (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range p.Nemesis {
		add(n)
	}
	for _, f := range p.Faults {
		if len(f.Random) > 0 {
			add("random")
			continue
		}
		add(strings.Join(slices.DeleteFunc([]string{f.Fault, f.Shape, f.Host}, func(s string) bool { return s == "" }),
			"-"))
	}
	return names
}

// Conditions describes what the plan requires of the cluster beside topology and faults, such as "min-replicas 1,
// max-lag 1s". It is empty if the plan requires nothing else.
func (p Plan) Conditions() string {
	var words []string
	say := func(set bool, name string, value any) {
		if set {
			words = append(words, fmt.Sprintf("%s %v", name, value))
		}
	}
	say(p.On != "" && p.On != string(cluster.OnProcess), "on", p.On)
	say(p.MinReplicas > 0, "min-replicas", p.MinReplicas)
	say(p.MaxLag > 0, "max-lag", p.MaxLag)
	say(p.AOF != "", "aof", p.AOF)
	say(p.Acks > 0, "acks", p.Acks)
	say(p.Resource, "with a", "resource")
	return strings.Join(words, ", ")
}

// Command returns the command line that repeats the plan. The command line names the plan's file if flags cannot
// express the plan.
func (p Plan) Command() string { return p.CommandWith(File, "") }

// needsFile reports whether flags alone cannot express the plan.
func (p Plan) needsFile() bool {
	return len(p.Faults) > 0 || Inline(p.Script) || p.Rounds != nil || p.DownAfter != 0 || p.SlowSentinels ||
		p.OwnSentinel
}

// SuiteCommand returns the command line that runs the given file, a suite with the plan as its only run. The argument
// redis, and plans on an external Redis, are treated as in CommandWith.
func (p Plan) SuiteCommand(file, redis string) string {
	w := newCommandLine("suite")
	w.add(file)
	w.flag("redis-server", redis, redis != "")
	return p.withPlace(w)
}

// withPlace returns the text of a command line. For a plan on an external Redis the text has placeholders for the URL
// and the hosts, since the plan has neither.
func (p Plan) withPlace(w *commandLine) string {
	if p.Topology == External {
		return ExternalURL + "=URL " + w.String() + " --i-may-load=HOST:PORT"
	}
	return w.String()
}

// CommandWith is like Command. file is the path of the plan's file. redis is the redis-server that the user named;
// empty: the user named none. For a plan on an external Redis, whose URL is not in the plan, the line has placeholders.
func (p Plan) CommandWith(file, redis string) string {
	w := newCommandLine("run")
	if p.needsFile() {
		w.flag("plan", file, true)
		w.flag("redis-server", redis, redis != "")
		return p.withPlace(w)
	}
	w.variant(p.Variant, p.Script, p.Adapter)
	w.flag("on", p.On, p.On != "")
	w.flag("redis-image", p.Image, p.Image != "")
	w.flag("topology", p.Topology, p.Topology != "")
	w.flag("prefix", p.Prefix, p.Prefix != "")
	w.flag("min-replicas", p.MinReplicas, p.MinReplicas != 0)
	w.flag("max-lag", p.MaxLag, p.MaxLag != 0)
	w.flag("aof", p.AOF, p.AOF != "")
	w.flag("acks", p.Acks, p.Acks != 0)
	w.flag("nemesis", strings.Join(p.Nemesis, ","), len(p.Nemesis) > 0)
	w.flag("repeat", p.Repeat, p.Repeat > 1)
	w.flag("fault-for", p.FaultFor, p.FaultFor != 0)
	w.flag("calm", p.Calm, p.Calm != 0)
	w.flag("with", strings.Join(p.With, ","), len(p.With) > 0)
	w.flag("resource", p.Resource, p.Resource)
	w.flag("clients", p.Clients, p.Clients != 0)
	w.flag("duration", p.Duration, p.Duration != 0)
	w.flag("thorough", p.Thorough, p.Thorough)
	w.flag("rate", p.Rate, p.Rate != 0)
	w.flag("pacing", p.Pacing, p.Pacing != "")
	w.flag("stop-on-first", p.StopOnFirst, p.StopOnFirst)
	w.flag("key-count", p.Keys, p.Keys != 0)
	w.flag("ttl", p.TTL, p.TTL != 0)
	w.flag("hold", p.Hold, p.Hold != 0)
	w.flag("regime", p.Regime, p.Regime != "")
	w.flag("generators", p.Generators, p.Generators != 0)
	w.flag("seed", p.Seed, p.Seed != 0)
	w.flag("redis-server", redis, redis != "")
	return p.withPlace(w)
}
