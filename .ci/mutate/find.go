package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// mutant is one small change of a package. Mutants are numbered from 1.
type mutant struct {
	number        int
	file          string // name of the file, without its folder
	function      string // function with the change; "" for a package variable
	line          int
	before, after string // the code before the change and after it
	repeat        int    // number of earlier sites in that function with the same change
}

// key identifies a mutant by its change and not by its line, so edits elsewhere in the file do not affect it.
func (m mutant) key() string {
	key := fmt.Sprintf("%s %s: %s => %s", m.file, m.function, m.before, m.after)
	if m.repeat > 0 {
		key += fmt.Sprintf(" (%d)", m.repeat+1)
	}
	return key
}

// site is a piece of code with its mutants.
type site struct {
	from, to     token.Pos
	kind         siteKind
	mutants      []int    // numbers of the site's mutants
	replacements []string // code of each mutant of the site
}

type siteKind int

const (
	condition siteKind = iota // an expression that is true or false
	value                     // an expression without side effects: it may be evaluated and discarded
	statement
)

// finder collects the sites of one file.
type finder struct {
	fset  *token.FileSet
	info  *types.Info
	src   []byte
	file  string
	first int // number of the first mutant

	function string
	seen     map[string]int // number of times that each change was made so far
	sites    []site
	mutants  []mutant
}

// find returns the mutants of a file and their sites. The parameter first is the number of the first mutant.
func find(
	fset *token.FileSet, info *types.Info, file *ast.File, name string, src []byte, first int,
) ([]mutant, []site) {
	f := &finder{fset: fset, info: info, src: src, file: name, first: first, seen: map[string]int{}}
	for _, d := range file.Decls {
		f.function = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.function = functionName(fn)
		}
		f.walk(d)
	}
	sort.SliceStable(f.sites, func(i, j int) bool { // outer ones first
		if f.sites[i].from != f.sites[j].from {
			return f.sites[i].from < f.sites[j].from
		}
		return f.sites[i].to > f.sites[j].to
	})
	return f.mutants, f.sites
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

func (f *finder) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				f.atom(n.X)
			}
		case *ast.IfStmt:
			f.atom(n.Cond)
			if n.Else == nil {
				f.omitExit(n.Body.List)
			}
		case *ast.ForStmt:
			if n.Cond != nil {
				f.atom(n.Cond)
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				f.atom(r)
			}
		case *ast.SwitchStmt:
			f.omitCaseExits(n.Body)
		case *ast.BlockStmt:
			f.steps(n.List)
		case *ast.CaseClause:
			f.steps(n.Body)
		}
		return true
	})
}

var comparisons = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ},
	token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ},
	token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ},
	token.NEQ: {token.EQL},
}

var sums = map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD}

// binary makes comparisons include or exclude equality (< becomes <=), negates them, and swaps + and - in numbers and
// times.
func (f *finder) binary(e *ast.BinaryExpr) {
	if f.constant(e) {
		return
	}
	for _, op := range comparisons[e.Op] {
		f.add(condition, e, f.text(e.X)+" "+op.String()+" "+f.text(e.Y))
	}
	if op, ok := sums[e.Op]; ok && f.number(e) {
		f.add(value, e, f.text(e.X)+" "+op.String()+" "+f.text(e.Y))
	}
	if e.Op == token.LAND || e.Op == token.LOR {
		f.atom(e.X)
		f.atom(e.Y)
	}
}

// atom negates a condition that no other rule changes: one that is neither a comparison nor a negation.
func (f *finder) atom(e ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		return
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return
		}
	}
	t := f.info.TypeOf(e)
	if t == nil || f.constant(e) {
		return
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsBoolean != 0 {
		f.add(condition, e, "!"+f.text(e))
	}
}

// steps replaces += by -= and ++ by --, and the other way round.
func (f *finder) steps(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IncDecStmt:
			if s.Tok == token.INC {
				f.add(statement, s, f.text(s.X)+"--")
			} else {
				f.add(statement, s, f.text(s.X)+"++")
			}
		case *ast.AssignStmt:
			if s.Tok == token.ADD_ASSIGN && f.number(s.Lhs[0]) {
				f.add(statement, s, f.text(s.Lhs[0])+" -= "+f.text(s.Rhs[0]))
			}
			if s.Tok == token.SUB_ASSIGN && f.number(s.Lhs[0]) {
				f.add(statement, s, f.text(s.Lhs[0])+" += "+f.text(s.Rhs[0]))
			}
		}
	}
}

// omitExit omits the return, continue or break that ends a block, if the function goes on after the block.
func (f *finder) omitExit(list []ast.Stmt) {
	if len(list) == 0 {
		return
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		if b, ok := s.(*ast.BranchStmt); ok && b.Tok != token.CONTINUE && b.Tok != token.BREAK {
			return
		}
		f.add(statement, s, "")
	}
}

// omitCaseExits omits what ends each case. It skips a switch with a default: without a return the function might not
// compile.
func (f *finder) omitCaseExits(body *ast.BlockStmt) {
	for _, c := range body.List {
		if c.(*ast.CaseClause).List == nil {
			return
		}
	}
	for _, c := range body.List {
		f.omitExit(c.(*ast.CaseClause).Body)
	}
}

func (f *finder) add(kind siteKind, n ast.Node, instead string) {
	number := f.first + len(f.mutants)
	m := mutant{number: number, file: f.file, function: f.function, line: f.fset.Position(n.Pos()).Line,
		before: oneLine(f.text(n)), after: oneLine(instead)}
	if m.after == "" {
		m.after = "nothing"
	}
	change := m.key()
	m.repeat = f.seen[change]
	f.seen[change]++
	f.mutants = append(f.mutants, m)
	for i := range f.sites {
		if s := &f.sites[i]; s.from == n.Pos() && s.to == n.End() && s.kind == kind {
			s.mutants, s.replacements = append(s.mutants, number), append(s.replacements, instead)
			return
		}
	}
	f.sites = append(f.sites, site{
		from: n.Pos(), to: n.End(), kind: kind, mutants: []int{number}, replacements: []string{instead},
	})
}

func (f *finder) constant(e ast.Expr) bool { return f.info.Types[e].Value != nil }

func (f *finder) number(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0
}

func (f *finder) text(n ast.Node) string {
	return string(f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
