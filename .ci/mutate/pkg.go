package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// pkg is a package with its mutants.
type pkg struct {
	path, name, dir string
	mutants         []mutant
	woven           map[string]string // source of each file with all its mutants, by path
}

// list returns the path of the package's mutants.txt.
func (p pkg) list() string { return filepath.Join(p.dir, "mutants.txt") }

// packageInfo holds what go list says about a package.
type packageInfo struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	DepOnly                       bool
}

// load finds the mutants of a package.
func load(name string) (pkg, error) {
	target, exports, err := describe(name)
	if err != nil {
		return pkg{}, err
	}
	p := pkg{path: target.ImportPath, name: target.Name, dir: target.Dir, woven: map[string]string{}}
	fset := token.NewFileSet()
	var files []*ast.File
	var sources [][]byte
	for _, f := range target.GoFiles {
		src, err := os.ReadFile(filepath.Join(target.Dir, f))
		if err != nil {
			return p, err
		}
		file, err := parser.ParseFile(fset, filepath.Join(target.Dir, f), src, parser.SkipObjectResolution)
		if err != nil {
			return p, err
		}
		files, sources = append(files, file), append(sources, src)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports)}
	if _, err := config.Check(p.path, fset, files, info); err != nil {
		return p, err
	}
	for i, file := range files {
		mutants, sites := find(fset, info, file, target.GoFiles[i], sources[i], len(p.mutants)+1)
		p.mutants = append(p.mutants, mutants...)
		p.woven[filepath.Join(target.Dir, target.GoFiles[i])] = weave(fset.File(file.Pos()), sources[i], sites)
	}
	return p, nil
}

// describe returns what go list says about a package, and a function that opens the compiled code of an import.
func describe(name string) (packageInfo, func(string) (io.ReadCloser, error), error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly", name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return packageInfo{}, nil, fmt.Errorf("go list %s: %w", name, err)
	}
	var targets []packageInfo
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l packageInfo
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return packageInfo{}, nil, err
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			targets = append(targets, l)
		}
	}
	if len(targets) != 1 {
		return packageInfo{}, nil, fmt.Errorf("%s names %d packages: name one", name, len(targets))
	}
	return targets[0], func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }, nil
}
