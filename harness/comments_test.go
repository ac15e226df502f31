package harness_test

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommentsNameWhatExists checks that the files and declarations exist that comments of this module name.
func TestCommentsNameWhatExists(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	all, err := commentsOf(root)
	require.NoError(t, err)
	require.Greater(t, len(all.files), 1000)
	require.Empty(t, all.stale())
}

// TestStaleCommentsAreSeen checks that the missing declarations and files that comments name are found, and no others.
func TestStaleCommentsAreSeen(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"a/a.go": `// Package a has [A], [A.Do], [A.Field], [b.B.Do], [fmt.Println] and ../b/b.go.
package a

import (
	"fmt"

	"` + module + `b"
)

// A does not have a [C], [A.Gone], [b.Gone], [b.B.Gone] or [c.C], nor a gone.go, b.go or ../b/a.go. An argument is a
// yours.go, see mylock.go. [2] [from, to]
// [op.Call, op.Return]
type A struct {
	Field int
}

// E has what B has: [E.Do].
type E struct{ b.B }

func (*A) Do() { fmt.Println(b.B(nil)) }

func f() {
	// a/gone.go is gone.
}
`,
		"b/b.go":      "package b\n\n// B is not in b_test.go.\ntype B interface{ Do() }\n",
		"b/c_test.go": "package b_test\n\n// See [D], b.go and a/a.go.\ntype D int\n",
	} {
		writeFile(t, filepath.Join(root, file), text)
	}
	all, err := commentsOf(root)
	require.NoError(t, err)
	require.Equal(t, []string{
		"a/a.go:10: [A.Gone]", "a/a.go:10: [C]", "a/a.go:10: [b.B.Gone]", "a/a.go:10: [b.Gone]", "a/a.go:10: [c.C]",
		"a/a.go:10: ../b/a.go", "a/a.go:10: b.go", "a/a.go:10: gone.go", "a/a.go:23: a/gone.go",
		"b/b.go:3: b_test.go",
	}, all.stale())
}

// examples are names of files in a user's module, which comments may name although this module lacks them.
var examples = []string{"main.go", "mylock.go", "mylock_test.go", "yours.go", "yours_test.go"}

// fileName matches the name of a Go file, with or without a folder.
var fileName = regexp.MustCompile(`[\w./-]*\w\.go\b`)

// comments holds the comments of a module, with what they may name.
type comments struct {
	files    map[string]bool              // by path from the root
	declared map[string]map[string]bool   // by folder: "Name", "Type.Method", "Type.Field"
	embeds   map[string]bool              // structs and interfaces that embed another type, as "folder.Type"
	imports  map[string]map[string]string // by folder and name: the path of the package that is imported by that name
	groups   []commentGroup
}

// commentGroup is one comment.
type commentGroup struct {
	folder string // of its package
	where  string // file and line
	text   string
}

// commentsOf reads the comments of all Go files below root, tests included.
func commentsOf(root string) (*comments, error) {
	all := &comments{files: map[string]bool{}, declared: map[string]map[string]bool{}, embeds: map[string]bool{},
		imports: map[string]map[string]string{}}
	return all, eachGoFile(root, all.read)
}

// read adds the comments and declarations of a Go file. name is its path from the root, and at its path on disk.
func (c *comments) read(name, at string) error {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, at, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := path.Dir(name)
	c.files[name] = true
	if c.declared[folder] == nil {
		c.declared[folder], c.imports[folder] = map[string]bool{}, map[string]string{}
	}
	for _, d := range file.Decls {
		c.declare(folder, d)
	}
	for _, spec := range file.Imports {
		to := strings.Trim(spec.Path.Value, "\"`")
		as := path.Base(to)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		c.imports[folder][as] = to
	}
	for _, g := range file.Comments {
		where := fmt.Sprintf("%s:%d", name, positions.Position(g.Pos()).Line)
		c.groups = append(c.groups, commentGroup{folder, where, g.Text()})
	}
	return nil
}

// declare notes the names of a declaration.
func (c *comments) declare(folder string, d ast.Decl) {
	names := c.declared[folder]
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = typeName(d.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			case *ast.TypeSpec:
				names[s.Name.Name] = true
				c.declareMembers(folder, s)
			}
		}
	}
}

// declareMembers notes the fields of a struct, or the methods of an interface.
func (c *comments) declareMembers(folder string, s *ast.TypeSpec) {
	var members *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		members = t.Fields
	case *ast.InterfaceType:
		members = t.Methods
	default:
		return
	}
	for _, m := range members.List {
		for _, n := range m.Names {
			c.declared[folder][s.Name.Name+"."+n.Name] = true
		}
		if len(m.Names) == 0 {
			c.embeds[folder+"."+s.Name.Name] = true
		}
	}
}

// typeName returns the name of a receiver's type.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// stale lists the links and files in comments that do not exist.
func (c *comments) stale() (found []string) {
	for _, g := range c.groups {
		var links, files []string
		if strings.Contains(g.text, "[") {
			links = c.staleLinks(g)
		}
		for _, name := range fileName.FindAllString(g.text, -1) {
			if !c.hasFile(g.folder, name) {
				files = append(files, name)
			}
		}
		slices.Sort(links)
		slices.Sort(files)
		for _, name := range append(links, files...) {
			found = append(found, g.where+": "+name)
		}
	}
	return found
}

// hasFile reports whether a file that a comment names exists, seen from the folder or from one of its parents.
func (c *comments) hasFile(folder, name string) bool {
	if slices.Contains(examples, name) || c.files[path.Join(folder, name)] {
		return true
	}
	if !strings.Contains(name, "/") || strings.HasPrefix(name, ".") {
		return false
	}
	for folder != "." {
		if folder = path.Dir(folder); c.files[path.Join(folder, name)] {
			return true
		}
	}
	return false
}

// staleLinks lists the links to declarations of this module that do not exist.
func (c *comments) staleLinks(g commentGroup) (found []string) {
	p := comment.Parser{
		LookupSym: func(string, string) bool { return true },
		LookupPackage: func(name string) (string, bool) {
			if to, ok := c.imports[g.folder][name]; ok {
				return to, true
			}
			if to, ok := comment.DefaultLookupPackage(name); ok {
				return to, true
			}
			return module + name, true // so that it is found to be stale: the package does not import it
		},
	}
	eachLink(p.Parse(g.text).Content, func(l *comment.DocLink) {
		folder, ours := strings.CutPrefix(l.ImportPath, module)
		if l.ImportPath == "" {
			folder, ours = g.folder, true
		}
		text := plainText(l.Text)
		isName := l.Name != "" && !strings.Contains(text, " ") // not an interval, such as [Call, Return]
		if ours && isName && !c.has(folder, l) {
			found = append(found, "["+text+"]")
		}
	})
	return found
}

// has reports whether a folder declares what a link names. A type that embeds another one may have any member.
func (c *comments) has(folder string, l *comment.DocLink) bool {
	names := c.declared[folder]
	if l.Recv == "" {
		return names[l.Name]
	}
	return names[l.Recv+"."+l.Name] || c.embeds[folder+"."+l.Recv]
}

// eachLink calls f for each documentation link in the blocks of a comment.
func eachLink(blocks []comment.Block, f func(*comment.DocLink)) {
	for _, b := range blocks {
		var text []comment.Text
		switch b := b.(type) {
		case *comment.Paragraph:
			text = b.Text
		case *comment.Heading:
			text = b.Text
		case *comment.List:
			for _, item := range b.Items {
				eachLink(item.Content, f)
			}
		}
		for _, part := range text {
			if l, ok := part.(*comment.DocLink); ok {
				f(l)
			}
		}
	}
}

// plainText returns the words of a link.
func plainText(text []comment.Text) (out string) {
	for _, part := range text {
		if p, ok := part.(comment.Plain); ok {
			out += string(p)
		}
	}
	return out
}
