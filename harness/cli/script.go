package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/workloads"
)

// scriptFlags hold the flags about a Lua file. The flag --as is for adapters, too.
type scriptFlags struct {
	file, as, yes string
	keys, args    []string
	noErrors      []string
	release       string
	releaseArgs   []string
}

// variantFlags hold the flags that define a variant by a Lua file or an adapter.
type variantFlags struct {
	script  scriptFlags
	adapter adapterFlags
}

func (v *variantFlags) add(cmd *cobra.Command) {
	f, s := cmd.Flags(), &v.script
	f.StringVar(&s.file, "script", "", "your own Lua file, instead of a variant")
	f.StringVar(&s.as, "as", "", "what the script or adapter is: lock, dedup or sequence (default of an adapter: what "+
		"it says)")
	v.adapter.add(f)
	f.StringArrayVar(&s.keys, "keys", nil, "one of KEYS, repeatable: text with {key} (default {key})")
	f.StringArrayVar(&s.args, "args", nil,
		"one of ARGV, repeatable: text with {owner} {ttl_ms} {ttl_s}, {window_ms} {window_s} or "+
			"{proposed}\n(default: lock {owner} {ttl_ms}; dedup {window_s}; sequence {proposed})")
	f.StringVar(&s.yes, "yes", "", "reply that means granted, or first (default: 1, OK or true)")
	f.StringArrayVar(&s.noErrors, "no-error", nil,
		"beginning of an error reply that means that nothing was done, such as RATELIMITED, repeatable (default: an "+
			"error leaves open what was done)")
	f.StringVar(&s.release, "release", "", "Lua file that releases a lock (default: compare and delete)")
	f.StringArrayVar(&s.releaseArgs, "release-args", nil, "one of ARGV of the release, repeatable (default {owner})")
}

// chosen is a variant of the catalogue, or one defined by a script or an adapter.
type chosen struct {
	id      string
	script  *workloads.Script
	adapter *workloads.Adapter
}

// variants lists the variants that args name, and the variant that flags define by a script or an adapter. It tries a
// script or adapter on a Redis of its own, to refuse a broken one early. An adapter that announces its operations is
// not tried.
func (a *app) variants(cmd *cobra.Command, f *variantFlags, args []string) ([]chosen, error) {
	var out []chosen
	args, c, err := f.readAdapter(cmd, args)
	if err != nil {
		return out, err
	}
	for _, id := range args {
		if err := notAVariant(cmd.Name(), id); err != nil {
			return out, err
		}
		out = append(out, chosen{id: id})
	}
	if c != nil && c.Announces { // it cannot be asked
		return append(out, chosen{id: c.ID(), adapter: c}), nil
	}
	if c != nil {
		described, err := results.DescribeAdapter(cmd.Context(), *c, a.options())
		return append(out, chosen{id: described.ID(), adapter: &described}), err
	}
	s, err := f.script.read()
	if s == nil || err != nil {
		return out, err
	}
	id, odd, err := results.TryScript(cmd.Context(), *s, a.options())
	if odd != "" {
		fmt.Fprintf(a.err, "note: %s\n", units.Visible(odd))
	}
	return append(out, chosen{id: id, script: s}), err
}

// onlyOfScripts reports whether any flag was given that only scripts have.
func (f *scriptFlags) onlyOfScripts() bool {
	return f.yes != "" || f.release != "" || f.keys != nil || f.args != nil || f.releaseArgs != nil || f.noErrors != nil
}

// read returns the script that the flags define, with the texts of its files; nil: the flags name no script.
func (f *scriptFlags) read() (*workloads.Script, error) {
	if f.file == "" {
		if f.as != "" || f.onlyOfScripts() {
			return nil, usage("--as, --keys, --args, --yes, --no-error, --release and --release-args are for a " +
				"--script: name its file (the number of locks or sequences is --key-count)")
		}
		return nil, nil
	}
	if f.as == "" {
		return nil, usage("--script needs --as: add --as lock, dedup or sequence")
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, usage("--script: %w: name a Lua file", err)
	}
	s := &workloads.Script{
		As: workloads.Family(f.as), Name: strings.TrimSuffix(filepath.Base(f.file), ".lua"), Source: string(text),
		Keys: f.keys, Args: f.args, Yes: f.yes, ReleaseArgs: f.releaseArgs, NoErrors: f.noErrors, File: f.file,
	}
	if f.release != "" {
		text, err := os.ReadFile(f.release)
		if err != nil {
			return nil, usage("--release: %w: name a Lua file", err)
		}
		s.Release, s.ReleaseFile, s.ReleaseName = string(text), f.release, filepath.Base(f.release)
	}
	return s, nil
}

// notAVariant returns an error if arg is a bug, a Lua script, a suite or another file, such as the program of an
// adapter. The error says which command or flag takes arg.
func notAVariant(command, arg string) error {
	if isBug(arg) {
		return usage("%s is the name of a bug of a library: doublegrant reproduce %[1]s", arg)
	}
	if f, err := os.Stat(arg); err != nil || !f.Mode().IsRegular() {
		return nil
	}
	if _, err := workloads.Find(arg); err == nil {
		return nil
	}
	switch filepath.Ext(arg) {
	case ".lua":
		return usage("%s is a file, not a variant: your own script is given by --script %[1]s --as lock, dedup or "+
			"sequence", arg)
	case ".yaml", ".yml":
		return usage("%s is a file, not a variant: a suite is run by doublegrant suite %[1]s, and a plan by "+
			"doublegrant run --plan %[1]s", arg)
	}
	return usage("%s is a file, not a variant: your own program is given by its whole command line, such as "+
		"doublegrant %s -- python3 %[1]s", arg, command)
}

// wantOneVariant returns the error for a command line with no variant or several. The error has an example of the
// command.
func wantOneVariant(command string, given int) error {
	number := fmt.Sprintf("%d variants given", given)
	if given == 0 {
		number = "no variant given"
	}
	return usage("%s: want one variant, such as doublegrant %s lock/set-nx-px (doublegrant list shows them all), or "+
		"your own by --script or --adapter", number, command)
}
