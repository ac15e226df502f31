package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file saves searches, so that another process can resume them. A file has two lines of JSON: a head that
// describes the search, and its checkpoint.

const (
	savedKind   = "doublegrant search"
	savedFormat = 1 // number that is raised when older programs can no longer read the file
)

// savedHead is the first line of a saved search.
type savedHead struct {
	Kind        string      `json:"kind"`
	Format      int         `json:"format"`
	Program     string      `json:"program"`     // id of the variant
	Doublegrant string      `json:"doublegrant"` // version of doublegrant that searched
	Server      string      `json:"server"`
	Files       []savedFile `json:"files,omitempty"` // files that the adapter's command line names
	Search      plan.Search `json:"search"`          // the search without its limits
	Schedules   int         `json:"schedules"`       // number of schedules that were run
	Done        bool        `json:"done"`            // whether no work is left
	Sum         string      `json:"sum"`             // SHA-256 of the file as it is with this field empty
}

// savedFile is a file that an adapter's command line names.
type savedFile struct {
	Name string `json:"name"`
	Sum  string `json:"sum"` // SHA-256
}

// Saved is a search read from a file.
type Saved struct {
	Search     plan.Search
	Checkpoint *explore.Checkpoint

	path string
	head savedHead
}

// headOf describes a search for its file.
func headOf(s plan.Search, v workloads.Variant, server string) savedHead {
	s.For, s.MaxSchedules = 0, 0
	return savedHead{
		Kind: savedKind, Format: savedFormat, Program: v.ID, Doublegrant: reports.Versions(server)[0].Version,
		Server: server, Files: filesOf(s.Adapter), Search: s,
	}
}

// filesOf lists the files that an adapter's command line names. It leaves out an interpreter that is found in the PATH.
func filesOf(c *workloads.Adapter) (all []savedFile) {
	if c == nil {
		return nil
	}
	for _, word := range c.Command {
		if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text, err := os.ReadFile(word); err == nil {
			all = append(all, savedFile{word, sumOf(text)})
		}
	}
	return all
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// save writes a search to a file. It replaces an existing file as a whole or not at all.
func (h savedHead) save(path string, c *explore.Checkpoint) error {
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	h.Schedules, h.Done, h.Sum = c.Schedules(), c.Done(), ""
	if h.Sum, err = h.sum(body); err != nil {
		return err
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return reports.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(bytes.Join([][]byte{head, body, nil}, []byte("\n")))
		return err
	})
}

func (h savedHead) sum(body []byte) (string, error) {
	h.Sum = ""
	head, err := json.Marshal(h)
	return sumOf(append(append(head, '\n'), body...)), err
}

// checkSave refuses a file that cannot be written, before a search that may be long.
func checkSave(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return plan.Usagef("--save %s: it is not a regular file: name another", path)
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".doublegrant-*")
	if err != nil {
		return plan.Usagef("--save %s: cannot write to its folder: %w", path, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// ReadSearch reads a saved search. The error wraps plan.ErrUsage, and says on one line what is wrong and what to do.
func ReadSearch(path string) (Saved, error) {
	refuse := func(format string, args ...any) (Saved, error) {
		return Saved{}, plan.Usagef("%s: %w", path, fmt.Errorf(format, args...))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return refuse("cannot read the saved search: %w", errors.Unwrap(err))
	}
	first, body, whole := bytes.Cut(text, []byte("\n"))
	var h savedHead
	if err := json.Unmarshal(first, &h); err != nil || h.Kind != savedKind {
		return refuse("it is not a saved search: name a file that explore --save wrote")
	}
	body, ended := bytes.CutSuffix(body, []byte("\n"))
	switch sum, err := h.sum(body); {
	case h.Format > savedFormat:
		return refuse("it has format %d and this program reads %d: use a newer doublegrant", h.Format, savedFormat)
	case err != nil || !whole || !ended || sum != h.Sum:
		return refuse("it is incomplete or was changed: copy it again")
	}
	c := &explore.Checkpoint{}
	if err := json.Unmarshal(body, c); err != nil {
		return refuse("%w: use the version of doublegrant that wrote it (%s)", err, h.Doublegrant)
	}
	return Saved{Search: h.Search, Checkpoint: c, path: path, head: h}, nil
}

// checkFits compares the head of the saved search with one that describes this program and machine. It returns an error
// if the search cannot be resumed here.
func (f *Saved) checkFits(now savedHead) error {
	refuse := func(format string, args ...any) error {
		return plan.Usagef("%s: %w", f.path, fmt.Errorf(format, args...))
	}
	switch was := f.head; {
	case was.Doublegrant != now.Doublegrant:
		return refuse("doublegrant %s began the search, and this is %s, which may order schedules differently: use "+
			"that version, or search again from the start", was.Doublegrant, now.Doublegrant)
	case was.Server != now.Server:
		return refuse("the search was begun on %s, and this is %s: choose the same with --redis-server, or search "+
			"again from the start",
			was.Server, now.Server)
	case len(was.Files) != len(now.Files):
		return refuse("files of %s are missing or new in this folder: continue in the folder where the search was "+
			"begun", was.Program)
	}
	for i, was := range f.head.Files {
		if was != now.Files[i] {
			return refuse("%s has changed since: search again from the start", was.Name)
		}
	}
	return nil
}
