package cli

import (
	"context"
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
	f.StringVar(&s.as, "as", "", "what the script is: lock, dedup or sequence")
	f.StringArrayVar(&s.keys, "keys", nil, "KEYS, one flag each: text with {key} (default {key})")
	f.StringArrayVar(&s.args, "args", nil, "ARGV, one flag each: text with {owner} {ttl_ms} {ttl_s}, {window_ms} {window_s} or {proposed}\n(default: lock {owner} {ttl_ms}; dedup {window_s}; sequence {proposed})")
	f.StringVar(&s.yes, "yes", "", "the reply that means granted, or first (default: 1, OK or true)")
	f.StringArrayVar(&s.noErrors, "no-error", nil, "the beginning of an error reply that is a definite no, such as RATELIMITED, one flag each (default: an error leaves open what was done)")
	f.StringVar(&s.release, "release", "", "a Lua file that releases a lock (default: compare and delete)")
	f.StringArrayVar(&s.releaseArgs, "release-args", nil, "its ARGV (default {owner})")
}

// chosen is a variant of the catalogue, or one made of a script.
type chosen struct {
	id     string
	script *workloads.Script
}

// variants lists the named variants and the one that the script flags make. It tries the script before anything else is done.
func (a *app) variants(ctx context.Context, args []string) ([]chosen, error) {
	var out []chosen
	for _, id := range args {
		out = append(out, chosen{id: id})
	}
	s, err := a.flags.script.script()
	if s == nil || err != nil {
		return out, err
	}
	id, err := results.TryScript(ctx, *s, a.options())
	return append(out, chosen{id, s}), err
}

// script reads the files that the flags name. It returns nil if they name none.
func (f scriptFlags) script() (*workloads.Script, error) {
	if f.file == "" {
		if f.as != "" || f.yes != "" || f.release != "" || f.keys != nil || f.args != nil || f.releaseArgs != nil || f.noErrors != nil {
			return nil, usage("--as, --keys, --args, --yes, --no-error, --release and --release-args are about a --script: name its file (how many locks or sequences there are, --key-count says)")
		}
		return nil, nil
	}
	if f.as == "" {
		return nil, usage("--script needs --as: is it a lock, dedup or sequence?")
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, usage("--script: %w", err)
	}
	s := &workloads.Script{
		As: workloads.Family(f.as), Name: strings.TrimSuffix(filepath.Base(f.file), ".lua"), Source: string(text),
		Keys: f.keys, Args: f.args, Yes: f.yes, ReleaseArgs: f.releaseArgs, NoErrors: f.noErrors, File: f.file,
	}
	if f.release != "" {
		text, err := os.ReadFile(f.release)
		if err != nil {
			return nil, usage("--release: %w", err)
		}
		s.Release, s.ReleaseFile, s.ReleaseName = string(text), f.release, filepath.Base(f.release)
	}
	return s, nil
}
