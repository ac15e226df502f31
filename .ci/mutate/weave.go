package main

import (
	"fmt"
	"go/token"
	"strings"
)

// selector is a file that is added to the package. It selects the mutant that the environment names, or none.
const selector = `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("` + environment + `"))

func mutantValue[T any](n int, is, instead T) T {
	if n == mutantOn {
		return instead
	}
	return is
}
`

const environment = "MUTANT"

// weave returns the source of a file with all its mutants, so that the package is compiled only once.
func weave(file *token.File, src []byte, sites []site) string {
	w := weaver{file: file, src: src, sites: sites}
	return w.piece(0, len(src))
}

type weaver struct {
	file  *token.File
	src   []byte
	sites []site // in order of position, outer sites before those inside them
}

// piece returns the source between two offsets, with the mutants of the sites in it.
func (w *weaver) piece(from, to int) string {
	var b strings.Builder
	for len(w.sites) > 0 {
		s := w.sites[0]
		start, end := w.file.Offset(s.from), w.file.Offset(s.to)
		if start >= to {
			break
		}
		w.sites = w.sites[1:]
		b.Write(w.src[from:start])
		b.WriteString(s.woven(w.piece(start, end)))
		from = end
	}
	b.Write(w.src[from:to])
	return b.String()
}

// woven returns code that runs a mutant of the site if it is selected, and the original code otherwise.
func (s site) woven(was string) string {
	var is, off []string
	for i, n := range s.mutants {
		on := fmt.Sprintf("mutantOn == %d", n)
		off = append(off, fmt.Sprintf("mutantOn != %d", n))
		switch s.kind {
		case condition:
			is = append(is, fmt.Sprintf("%s && (%s)", on, s.replacements[i]))
		case value:
			was = fmt.Sprintf("mutantValue(%d, %s, %s)", n, was, s.replacements[i])
		case statement:
			is = append(is, fmt.Sprintf("if %s { %s }", on, s.replacements[i]))
		}
	}
	none := strings.Join(off, " && ")
	switch s.kind {
	case condition:
		return fmt.Sprintf("(%s || %s && (%s))", strings.Join(is, " || "), none, was)
	case statement:
		return fmt.Sprintf("%s; if %s { %s }", strings.Join(is, "; "), none, was)
	default:
		return was
	}
}
