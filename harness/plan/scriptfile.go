package plan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ReadScript reads the files that the plan's script names, relative to the folder of planFile, and stores their texts
// in the plan. The error wraps ErrUsage.
func (p *Plan) ReadScript(planFile string) error {
	if p.Script == nil || p.Script.File == "" && p.Script.ReleaseFile == "" {
		return nil
	}
	s := *p.Script // a copy, since runs may share a script from defaults
	switch {
	case s.File != "" && s.Source != "":
		return p.errorf("script", "the script has both file and source: leave one of them out")
	case s.ReleaseFile != "" && s.Release != "":
		return p.errorf("script", "the script has both releaseFile and release: leave one of them out")
	}
	var err error
	if s.File != "" {
		if s.File, s.Source, err = textBeside(planFile, s.File); err != nil {
			return p.errorf("script", "file: %w", err)
		}
		if s.Name == "" {
			s.Name = strings.TrimSuffix(filepath.Base(s.File), ".lua")
		}
	}
	if s.ReleaseFile != "" {
		if s.ReleaseFile, s.Release, err = textBeside(planFile, s.ReleaseFile); err != nil {
			return p.errorf("script", "releaseFile: %w", err)
		}
		if s.ReleaseName == "" {
			s.ReleaseName = filepath.Base(s.ReleaseFile)
		}
	}
	p.Script = &s
	return nil
}

// textBeside reads a file whose path is relative to the folder of another file, the parameter other. It returns the
// file's text, and its path relative to the working folder.
func textBeside(other, file string) (path, text string, err error) {
	path = file
	if !filepath.IsAbs(file) {
		path = filepath.Join(filepath.Dir(other), file)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && path != file {
		err = fmt.Errorf("%w: give the path from the folder of the plan or suite", err)
	}
	return path, string(b), err
}

// WithoutFiles returns the plan with the texts of its script but without the names of its files. The files may change,
// and other machines do not have them.
func (p Plan) WithoutFiles() Plan {
	if p.Script != nil {
		s := *p.Script
		s.File, s.ReleaseFile = "", ""
		p.Script = &s
	}
	return p
}
