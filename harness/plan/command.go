package plan

import (
	"fmt"
	"strings"
	"unicode"

	"al.essio.dev/pkg/shellescape"

	"github.com/doublegrant/doublegrant/workloads"
)

// commandLine builds a command line. Each word is quoted for a shell.
type commandLine []string

func newCommandLine(command string) *commandLine { return &commandLine{"doublegrant", command} }

func (w *commandLine) add(word string) { *w = append(*w, shellescape.Quote(word)) }

// CommandLine joins words, each quoted for a shell.
func CommandLine(all ...string) string { return shellescape.QuoteCommand(all) }

// flag adds --name=value if the argument set is true.
func (w *commandLine) flag(name string, value any, set bool) {
	if set {
		w.add(fmt.Sprintf("--%s=%v", name, value))
	}
}

// flags adds --name=value for each value.
func (w *commandLine) flags(name string, values []string) {
	for _, v := range values {
		w.flag(name, v, true)
	}
}

// variant adds the variant, or the flags that define it by a script or an adapter.
func (w *commandLine) variant(id string, s *workloads.Script, c *workloads.Adapter) {
	if c != nil {
		w.flag("adapter", CommandLine(c.Command...), c.Connect == "")
		w.flag("connect", c.Connect, c.Connect != "")
		w.flag("announces", c.Announces, c.Announces)
		w.flag("clock", c.Clock, c.Announces && c.Clock != "") // other adapters report their clock themselves
		w.flag("processes", c.Processes, c.Processes != 0)
		w.flag("real-crash", c.RealCrash, c.RealCrash)
		w.flag("as", c.As, c.As != "")
		return
	}
	if s == nil {
		w.add(id)
		return
	}
	w.flag("script", s.File, true)
	w.flag("as", s.As, true)
	w.flags("keys", s.Keys)
	w.flags("args", s.Args)
	w.flag("yes", s.Yes, s.Yes != "")
	w.flags("no-error", s.NoErrors)
	w.flag("release", s.ReleaseFile, s.Release != "")
	w.flags("release-args", s.ReleaseArgs)
}

// Inline reports whether a part of the script is in no file, so that a command line cannot name it.
func Inline(s *workloads.Script) bool {
	return s != nil && (s.File == "" || s.Release != "" && s.ReleaseFile == "")
}

func (w *commandLine) String() string { return strings.Join(*w, " ") }

// FileName replaces characters that do not belong in a file name. The result has only letters, digits, dots, dashes and
// underscores, and does not begin with a dot.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-_", r) {
			return r
		}
		return '-'
	}, name)
	if strings.HasPrefix(name, ".") {
		name = "-" + name
	}
	return name
}
