package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/workloads"
)

// scriptFlags holds the flags that make a variant of a Lua file.
type scriptFlags struct {
	file, as, yes string
	keys, args    []string
	noErrors      []string
	release       string
	releaseArgs   []string
}

func (a *app) scriptFlags(cmd *cobra.Command) {
	f, s := cmd.Flags(), &a.flags.script
	f.StringVar(&s.file, "script", "", "a Lua file of your own, instead of a variant")
	f.StringVar(&s.as, "as", "", "what the script or program is: lock, dedup or sequence (default of a program: what it says)")
	a.flags.client.add(f)
	f.StringArrayVar(&s.keys, "keys", nil, "KEYS, one flag each: text with {key} (default {key})")
	f.StringArrayVar(&s.args, "args", nil, "ARGV, one flag each: text with {owner} {ttl_ms} {ttl_s}, {window_ms} {window_s} or {proposed}\n(default: lock {owner} {ttl_ms}; dedup {window_s}; sequence {proposed})")
	f.StringVar(&s.yes, "yes", "", "the reply that means granted, or first (default: 1, OK or true)")
	f.StringArrayVar(&s.noErrors, "no-error", nil, "the beginning of an error reply that is a definite no, such as RATELIMITED, one flag each (default: an error leaves open what was done)")
	f.StringVar(&s.release, "release", "", "a Lua file that releases a lock (default: compare and delete)")
	f.StringArrayVar(&s.releaseArgs, "release-args", nil, "its ARGV (default {owner})")
}

// chosen is a variant of the catalogue, or one made of a script or of a program outside.
type chosen struct {
	id     string
	script *workloads.Script
	client *workloads.Client
}

// variants lists the variants that args name, and the one that the script flags or the client flags make. It tries a script or program at
// once on a Redis of its own, so that one which cannot work is refused before anything else is done. One that announces its operations
// is not tried.
func (a *app) variants(cmd *cobra.Command, args []string) ([]chosen, error) {
	var out []chosen
	args, c, err := a.client(cmd, args)
	if err != nil {
		return out, err
	}
	for _, id := range args {
		out = append(out, chosen{id: id})
	}
	if c != nil && c.Announces { // nobody can ask it
		return append(out, chosen{id: c.ID(), client: c}), nil
	}
	if c != nil {
		known, err := results.DescribeClient(cmd.Context(), *c, a.options())
		return append(out, chosen{id: known.ID(), client: &known}), err
	}
	s, err := a.flags.script.script()
	if s == nil || err != nil {
		return out, err
	}
	id, err := results.TryScript(cmd.Context(), *s, a.options())
	return append(out, chosen{id: id, script: s}), err
}

// onlyOfScripts reports whether flags are given that are about scripts alone.
func (f scriptFlags) onlyOfScripts() bool {
	return f.yes != "" || f.release != "" || f.keys != nil || f.args != nil || f.releaseArgs != nil || f.noErrors != nil
}

// script reads the files that the flags name. It returns nil if they name none.
func (f scriptFlags) script() (*workloads.Script, error) {
	if f.file == "" {
		if f.as != "" || f.onlyOfScripts() {
			return nil, usage("--as, --keys, --args, --yes, --no-error, --release and --release-args are about a --script: name its file (how many locks or sequences there are, --key-count says)")
		}
		return nil, nil
	}
	if f.as == "" {
		return nil, usage("--script needs --as: is it a lock, dedup or sequence?")
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, usage("--script: %w: name a file of Lua", err)
	}
	s := &workloads.Script{
		As: workloads.Family(f.as), Name: strings.TrimSuffix(filepath.Base(f.file), ".lua"), Source: string(text),
		Keys: f.keys, Args: f.args, Yes: f.yes, ReleaseArgs: f.releaseArgs, NoErrors: f.noErrors, File: f.file,
	}
	if f.release != "" {
		text, err := os.ReadFile(f.release)
		if err != nil {
			return nil, usage("--release: %w: name a file of Lua", err)
		}
		s.Release, s.ReleaseFile, s.ReleaseName = string(text), f.release, filepath.Base(f.release)
	}
	return s, nil
}
