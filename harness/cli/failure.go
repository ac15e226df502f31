package cli

import (
	"errors"
	"io"

	"github.com/doublegrant/doublegrant/harness"
)

// failure is the JSON of a command that has come to no result.
type failure struct {
	Kind     string          `json:"kind"`    // "error"
	Verdict  harness.Verdict `json:"verdict"` // unknown
	Error    string          `json:"error"`   // on one line
	ExitCode int             `json:"exitCode"`
	Dir      string          `json:"dir,omitempty"` // results folder with what was recorded
}

// failed prints a failure if -o json asks for it and nothing was printed, so that whoever reads JSON always gets one value. It returns
// code.
func (a *app) failed(code int, err error) int {
	if a.format != "json" || a.said.anything {
		return code
	}
	f := failure{Kind: "error", Verdict: harness.Unknown, Error: message(err) + mountHint(err), ExitCode: code}
	if kept, ok := errors.AsType[keptError](err); ok {
		f.Dir = kept.dir
	}
	_ = a.printJSON(f) // standard error has it, too
	return code
}

// keptError is the error of a run that has recorded something.
type keptError struct {
	error
	dir string
}

func (e keptError) Unwrap() error { return e.error }

// keptIn returns err with the folder of what was recorded. An empty dir says that nothing was.
func keptIn(dir string, err error) error {
	if err == nil || dir == "" {
		return err
	}
	return keptError{err, dir}
}

// spoken notes whether anything was written.
type spoken struct {
	io.Writer
	anything bool
}

func (s *spoken) Write(p []byte) (int, error) {
	s.anything = true
	return s.Writer.Write(p)
}
