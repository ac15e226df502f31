package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// list holds the reason for each mutant that behaves like the original, by the mutant's key.
type list map[string]string

// readList reads a list. The file has a line for each mutant, as mutate prints it. An indented reason follows one or
// more such lines. Empty lines and lines that begin with # are skipped. A missing file is an empty list.
func readList(path string) (list, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return list{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	l, err := parseList(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func parseList(r io.Reader) (list, error) {
	l := list{}
	var waiting []string // mutants without a reason yet
	reason := false      // the previous line belonged to a reason
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if indented := line[0] == ' ' || line[0] == '\t'; indented {
			if len(waiting) == 0 {
				return nil, fmt.Errorf("line %d: a reason without a mutant above it", n)
			}
			for _, key := range waiting {
				l[key] = strings.TrimSpace(l[key] + " " + text)
			}
			reason = true
			continue
		}
		if reason {
			waiting, reason = nil, false
		}
		if _, twice := l[text]; twice {
			return nil, fmt.Errorf("line %d: %s stands there twice", n, text)
		}
		l[text] = ""
		waiting = append(waiting, text)
	}
	for _, key := range waiting {
		if l[key] == "" {
			return nil, fmt.Errorf("no reason for %s", key)
		}
	}
	return l, s.Err()
}

// report prints the survivors that are not on the list, and the stale entries. An entry is stale if its mutant no
// longer exists, or if a test notices the mutant. report returns true if it has nothing to print.
func (l list) report(all, tried []mutant, survived map[int]bool, out io.Writer) bool {
	fine := true
	complain := func(what string, m string) {
		fine = false
		_, _ = fmt.Fprintln(out, what+": "+m)
	}
	there := map[string]bool{}
	for _, m := range all {
		there[m.key()] = true
	}
	listed := 0
	for _, m := range tried {
		reason := l[m.key()]
		switch {
		case survived[m.number] && reason == "":
			complain("no test notices", fmt.Sprintf("%s:%d: %s", m.file, m.line, m.key()))
		case survived[m.number]:
			listed++
		case reason != "":
			complain("on the list, though a test notices it", m.key())
		}
	}
	for key := range l {
		if !there[key] {
			complain("on the list, though there is no such mutant", key)
		}
	}
	_, _ = fmt.Fprintf(out, "%d tried: tests notice %d, %d are on the list, %d are neither\n",
		len(tried), len(tried)-len(survived), listed, len(survived)-listed)
	return fine
}
