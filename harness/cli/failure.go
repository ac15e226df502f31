package cli

import (
	"errors"
	"io"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/reports"
)

// failure is the JSON of a command that failed to produce a result.
type failure struct {
	reports.Head
	Verdict  harness.Verdict `json:"verdict"` // always unknown
	Error    string          `json:"error"`   // the error, on one line
	ExitCode int             `json:"exitCode"`
	Dir      string          `json:"dir,omitempty"` // results folder of what was recorded
}

// failed prints a failure as JSON, if -o json was given and nothing was printed before. So JSON output always has one
// value. failed returns code.
func (a *app) failed(code int, err error) int {
	if a.format != "json" || a.tracked.written {
		return code
	}
	f := failure{
		Head: reports.HeadOf("error"), Verdict: harness.Unknown, Error: message(err) + mountHint(err), ExitCode: code,
	}
	if kept, ok := errors.AsType[keptError](err); ok {
		f.Dir = kept.dir
	}
	_ = a.printJSON(f) // standard error has it, too
	return code
}

// keptError is the error of a run whose recording is in the results folder dir.
type keptError struct {
	error
	dir string
}

func (e keptError) Unwrap() error { return e.error }

// keptIn adds the folder of what was recorded to err. An empty dir means that nothing was recorded.
func keptIn(dir string, err error) error {
	if err == nil || dir == "" {
		return err
	}
	return keptError{err, dir}
}

// trackedWriter remembers whether anything was written to it.
type trackedWriter struct {
	io.Writer
	written bool
}

func (s *trackedWriter) Write(p []byte) (int, error) {
	s.written = true
	return s.Writer.Write(p)
}
