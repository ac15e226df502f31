package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// timeOfDaySource is C code that is compiled into each library which sets a clock.
//
//go:embed time_of_day.c
var timeOfDaySource []byte

// libraries caches compiled libraries, since a search starts many clusters.
var libraries = struct {
	sync.Mutex
	made map[libraryKey][]byte
}{made: map[libraryKey][]byte{}}

type libraryKey struct{ compiler, source string }

// PreloadLibrary compiles C source that defines clock_gettime to a shared library for LD_PRELOAD. In the library all
// functions that return the time of day use that clock_gettime. The compiler is the one that the environment variable
// CC names, or cc. The library is linked against nothing. It is compiled once in the life of this process. If there is
// no compiler, or it cannot compile the source, the error wraps ErrNoCompiler and says what to install.
func PreloadLibrary(ctx context.Context, source []byte) (library []byte, err error) {
	compiler := strings.Fields(os.Getenv("CC"))
	if len(compiler) == 0 {
		compiler = []string{"cc"}
	}
	key := libraryKey{strings.Join(compiler, " "), string(source)}
	libraries.Lock()
	defer libraries.Unlock()
	if made := libraries.made[key]; made != nil {
		return made, nil
	}
	if library, err = compileLibrary(ctx, compiler, source); err != nil {
		return nil, err
	}
	libraries.made[key] = library
	return library, nil
}

func compileLibrary(ctx context.Context, compiler []string, text []byte) (_ []byte, err error) {
	folder, remove, err := TempFolder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	library := filepath.Join(folder, "preload.so")
	args := append(compiler[1:], "-O2", "-shared", "-fPIC", "-nostdlib", "-fno-stack-protector", "-o", library)
	for name, source := range map[string][]byte{"preload.c": text, "time_of_day.c": timeOfDaySource} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, source, 0o600); err != nil {
			return nil, err
		}
		args = append(args, path)
	}
	out, err := exec.CommandContext(ctx, compiler[0], args...).CombinedOutput()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: %q cannot be run, and clocks that can be set need one: install it (Debian: "+
			"apt-get install gcc libc6-dev) or set CC",
			ErrNoCompiler, compiler[0])
	case err != nil:
		return nil, fmt.Errorf("%w: %q cannot compile the clock library (Debian: apt-get install libc6-dev): %w: %s",
			ErrNoCompiler, compiler[0], err, lastLines(string(out)))
	}
	return os.ReadFile(library)
}
