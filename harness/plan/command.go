package plan

import (
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/workloads"
)

// words builds a command line.
type words []string

func commandLine(command string) *words { return &words{"doublegrant", command} }

func (w *words) add(word string) { *w = append(*w, word) }

// flag adds --name=value if it is set.
func (w *words) flag(name string, value any, set bool) {
	if set {
		w.add(quoted(fmt.Sprintf("--%s=%v", name, value)))
	}
}

// variant adds the variant, or the flags that make it of a script.
func (w *words) variant(id string, s *workloads.Script) {
	if s == nil {
		w.add(id)
		return
	}
	w.flag("script", s.Name+".lua", true)
	w.flag("as", s.As, true)
	for _, k := range s.Keys {
		w.flag("keys", k, true)
	}
	for _, a := range s.Args {
		w.flag("args", a, true)
	}
	w.flag("yes", s.Yes, s.Yes != "")
	w.flag("release", "release.lua", s.Release != "")
	for _, a := range s.ReleaseArgs {
		w.flag("release-args", a, true)
	}
}

func (w *words) String() string { return strings.Join(*w, " ") }

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if strings.ContainsAny(word, " {}$*?'\"\\;&|<>()`") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// FileName makes a variant's id fit for a file name.
func FileName(id string) string { return strings.ReplaceAll(id, "/", "-") }
