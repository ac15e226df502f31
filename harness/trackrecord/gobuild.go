package trackrecord

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// goToolchain builds programs in Go, each as a separate module that requires the pinned versions. Go takes the lowest
// version that satisfies all requirements, so the build is the same each time.
var goToolchain = toolchain{
	shared: map[string]string{"adapter.go": "go/adapter.go"},
	make:   buildGo,
	command: func(dir string, build bugs.Build) ([]string, error) {
		return append([]string{filepath.Join(dir, "program")}, build.Args...), nil
	},
}

func buildGo(ctx context.Context, dir string, b bugs.Bug, build bugs.Build) error {
	if _, err := exec.LookPath("go"); err != nil {
		return missingf("no go command: install Go 1.26 from https://go.dev/dl, on Debian: apt-get install golang")
	}
	var mod strings.Builder
	fmt.Fprintf(&mod, "module bug\n\ngo 1.26.0\n\nrequire (\n\t%s %s\n", b.Package, build.Version)
	for _, path := range slices.Sorted(maps.Keys(build.With)) {
		fmt.Fprintf(&mod, "\t%s %s\n", path, build.With[path])
	}
	fmt.Fprintln(&mod, ")")
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod.String()), 0o644); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for i, f := range files { // named, since their tag keeps them out of this module
		files[i] = filepath.Base(f)
	}
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-mod=mod", "-trimpath", "-o", "program"}, files...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "PWD="+dir)
	said, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return missingf("it cannot be built: %s; set GOPROXY to a module proxy that is reached and has this version",
			refusal(said))
	}
	return err
}

// refusal returns the reason why the go command failed, as one line. The reason is the first line of its output that is
// not about progress, together with the indented lines that follow.
func refusal(said []byte) (why string) {
	for line := range strings.Lines(string(said)) {
		switch text := strings.TrimSpace(line); {
		case why != "" && !strings.HasPrefix(line, "\t"):
			return why
		case why != "":
			why += " " + text
		case !strings.HasPrefix(line, "go: downloading") && !strings.HasPrefix(line, "#"):
			why = text
		}
	}
	return why
}

// lastLine returns the last line of a command's output, which has the reason of its failure.
func lastLine(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return lines[len(lines)-1]
}
