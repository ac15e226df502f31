package adapter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/workloads"
	"github.com/doublegrant/doublegrant/workloads/adapters"
)

// Runnable returns v in a form that can be run. If v is a library in another language, the result starts the library's
// adapter. Every other variant is returned as it is.
func Runnable(v workloads.Variant) workloads.Variant {
	l, ok := v.Library()
	if !ok {
		return v
	}
	p := New(workloads.Adapter{As: workloads.Lock})
	p.prepare = func() (command []string, remove func() error, err error) { return unpack(l) }
	return v.RunBy(p)
}

// ErrMissing says that this machine lacks a library.
var ErrMissing = errors.New("a library is missing")

// Missing returns an error that wraps ErrMissing and says what to install, if the variant is a library that this
// machine lacks.
func Missing(v workloads.Variant) error {
	l, ok := v.Library()
	if !ok {
		return nil
	}
	if _, err := interpreterOf(l); err != nil {
		return fmt.Errorf("%s: %w", v.ID, err)
	}
	return nil
}

// Interpreter returns the command that runs the adapter of a library's variant, such as /usr/bin/python3: the first of
// Library.Interpreters that has the library. The second result is the first interpreter in the list if that one lacks
// the library, and otherwise empty. Both results are empty if no interpreter has the library, or if v is not a
// library's variant.
func Interpreter(v workloads.Variant) (command, skipped string) {
	l, ok := v.Library()
	if !ok {
		return "", ""
	}
	command, err := interpreterOf(l)
	if err == nil && command != l.Interpreters[0] {
		skipped = l.Interpreters[0]
	}
	return command, skipped
}

// interpreters caches the results of interpreterOf, since finding out each of them takes a process.
var interpreters sync.Map // values are func() (string, error)

// interpreterOf returns the first of the library's Interpreters that has the library.
func interpreterOf(l workloads.Library) (string, error) {
	ask, _ := interpreters.LoadOrStore(fmt.Sprint(l.Interpreters, l.Probe), sync.OnceValues(func() (string, error) {
		for _, name := range l.Interpreters {
			if exec.Command(name, l.Probe...).Run() == nil {
				return name, nil
			}
		}
		return "", fmt.Errorf("%w: none of %s can run %q: on Debian, apt-get install %s", ErrMissing,
			strings.Join(l.Interpreters, ", "), l.Probe[len(l.Probe)-1], l.Packages)
	}))
	return ask.(func() (string, error))()
}

// unpack writes the adapters of a library's language to a temporary folder, and returns the command that runs the
// library's adapter. The folder is removed at the latest when this process ends.
func unpack(l workloads.Library) (command []string, remove func() error, err error) {
	interpreter, err := interpreterOf(l)
	if err != nil {
		return nil, nil, err
	}
	folder, remove, err := cluster.TempFolder()
	if err != nil {
		return nil, nil, err
	}
	language := filepath.Dir(l.File)
	files, err := fs.ReadDir(adapters.Files, language)
	for _, f := range files {
		text, readErr := adapters.Files.ReadFile(language + "/" + f.Name())
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(folder, f.Name()), text, 0o600))
	}
	if err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return append([]string{interpreter, filepath.Join(folder, filepath.Base(l.File))}, l.Args...), remove, nil
}
