package trackrecord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/workloads/adapters"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// ErrMissing says that something is missing on this machine. Its text says what to install.
var ErrMissing = errors.New("missing")

func missingf(format string, about ...any) error {
	return fmt.Errorf("%w: %w", ErrMissing, fmt.Errorf(format, about...))
}

// toolchain makes the programs of a language.
type toolchain struct {
	shared map[string]string // files of workloads/adapters that are put beside each program, by their name there
	// make makes the program in the folder dir, where its source files are already. It is called once for each program,
	// and the folder is renamed afterwards. The error wraps ErrMissing if a version, a compiler or a package is
	// missing.
	make func(ctx context.Context, dir string, b bugs.Bug, build bugs.Build) error
	// command returns the command line of the program in the folder dir. The error wraps ErrMissing if an interpreter
	// is missing.
	command func(dir string, build bugs.Build) ([]string, error)
}

// toolchains lists how programs are made, by the language of their entry.
var toolchains = map[string]toolchain{
	"Go": goToolchain, "Python": pythonToolchain, "PHP": phpToolchain, "Ruby": rubyToolchain,
	"JavaScript": nodeToolchain, "Perl": perlToolchain,
}

// Prepare returns the command line of an entry's adapter with pinned versions. It makes the adapter when it is first
// needed, and keeps it in the user's cache. The error wraps ErrMissing if a version, a compiler, an interpreter or a
// package is missing.
func Prepare(ctx context.Context, b bugs.Bug, build bugs.Build) (command []string, err error) {
	chain, ok := toolchains[b.Language]
	if !ok {
		return nil, fmt.Errorf("%s: no program in %s can be made", b.Name(), b.Language)
	}
	files, err := sources(b, chain)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder for programs: %w: set XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "doublegrant", "bugs", b.ID, build.Version+"-"+fingerprint(files, build))
	if _, err := os.Stat(dir); err == nil {
		return chain.command(dir, build)
	}
	if err := makeIn(dir, files, func(in string) error { return chain.make(ctx, in, b, build) }); err != nil {
		return nil, fmt.Errorf("%s %s: %w", b.Library, build.Version, err)
	}
	return chain.command(dir, build)
}

// sources returns the files of an entry's program, by name. It leaves out the example for maintainers, which is another
// program.
func sources(b bugs.Bug, chain toolchain) (map[string][]byte, error) {
	files, err := b.Files()
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return strings.HasPrefix(name, "example.") })
	for name, from := range chain.shared {
		if files[name], err = adapters.Files.ReadFile(from); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// makeIn makes the folder dir, with the given files and with what the function fill adds to them. That function works
// in another folder, which is renamed to dir at the end. So dir is there as a whole or not at all, and two processes
// may make it at the same time.
func makeIn(dir string, files map[string][]byte, fill func(in string) error) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	in, err := os.MkdirTemp(parent, ".making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(in)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(in, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := fill(in); err != nil {
		return err
	}
	if err := os.Rename(in, dir); err != nil {
		if _, made := os.Stat(dir); made != nil { // otherwise another process was faster
			return err
		}
	}
	return nil
}

// fingerprint returns a text that differs between programs of different sources or versions.
func fingerprint(files map[string][]byte, build bugs.Build) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q", build.Version, build.With, build.Needs)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q", name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
