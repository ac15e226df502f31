package bugs

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Bug describes one bug of a library. Fields that are described as optional may be empty.
type Bug struct {
	ID       string `yaml:"-" json:"id"`              // name of the entry's folder
	Library  string `yaml:"library" json:"library"`   // the library as its users call it, such as bsm/redislock
	Language string `yaml:"language" json:"language"` // Go, Python, JavaScript, PHP, Ruby or Perl
	// Package is the library's name in go.mod, requirements.txt or another lock file.
	Package string `yaml:"package" json:"package"`

	Since string `yaml:"since,omitempty" json:"since,omitempty"` // first version known to have the bug; optional
	Fixed string `yaml:"fixed,omitempty" json:"fixed,omitempty"` // first version without the bug; empty: none is known
	// FixedOn is the day on which the version in Fixed was released, in the form 2006-01-02; optional.
	FixedOn string `yaml:"fixedOn,omitempty" json:"fixedOn,omitempty"`

	Shown Build `yaml:"shown" json:"shown"` // the build that shows the bug
	// Holds is a build in which the search finds nothing; may be nil.
	Holds *Build `yaml:"holds,omitempty" json:"holds,omitempty"`

	// Variant is the prefix of the ids of catalogue variants that run the same library, such as lib/redislock; optional.
	Variant string `yaml:"variant,omitempty" json:"variant,omitempty"`
	// Program is the id of another entry, if this entry uses that entry's program; empty: the entry has its own.
	Program string `yaml:"program,omitempty" json:"program,omitempty"`

	Class      harness.Class   `yaml:"class" json:"class"`                   // the violation that the search has to find
	Also       []harness.Class `yaml:"also,omitempty" json:"also,omitempty"` // further classes that the search may find
	Conditions string          `yaml:"conditions" json:"conditions"`         // what has to happen for the bug to show
	Happens    string          `yaml:"happens" json:"happens"`               // the mechanism, in a few sentences
	Where      string          `yaml:"where" json:"where"`                   // file and function in the library's source
	Promise    string          `yaml:"promise" json:"promise"`               // documentation that promises the opposite
	Upstream   Upstream        `yaml:"upstream" json:"upstream"`
	// Suggestion tells the maintainers what they could do. It is required if no issue is known.
	Suggestion string `yaml:"suggestion,omitempty" json:"suggestion,omitempty"`

	// Run has the fields of a run of a suite, see harness/suite, without adapter and expect. A run with the field explore
	// is a search.
	Run map[string]any `yaml:"run" json:"run"`
}

// Build is a version of the library, with the versions of everything else that has to be pinned.
type Build struct {
	Version string            `yaml:"version" json:"version"`               // written as in the language's registry
	With    map[string]string `yaml:"with,omitempty" json:"with,omitempty"` // versions of other packages, by name
	Args    []string          `yaml:"args,omitempty" json:"args,omitempty"` // arguments of the adapter
	// Needs lists Debian packages. It is not used for Go.
	Needs []string `yaml:"needs,omitempty" json:"needs,omitempty"`
}

// Upstream says what the maintainers know.
type Upstream struct {
	// Issues lists issues such as redis/go-redis#2985; empty: no issue is known.
	Issues []string `yaml:"issues,omitempty" json:"issues,omitempty"`
	// Searched says where, and by which words, issues were searched for.
	Searched string `yaml:"searched,omitempty" json:"searched,omitempty"`
}

// String lists the issues, or says that none is known.
func (u Upstream) String() string {
	return cmp.Or(strings.Join(u.Issues, ", "), "no upstream issue known")
}

// Own reports whether this project has found the bug: no upstream issue is known.
func (b Bug) Own() bool { return len(b.Upstream.Issues) == 0 }

// Prefix is the start of a bug's name on the command line.
const Prefix = "bug/"

// Name returns the name by which the command line reproduces the bug.
func (b Bug) Name() string { return Prefix + b.ID }

//go:embed */*
var files embed.FS

// Entry is the name of the file that describes a bug, in the bug's folder.
const Entry = "bug.yaml"

// All lists the entries, sorted by library and id. An error means that an entry is defective.
func All() (all []Bug, err error) {
	folders, err := fs.Glob(files, "*/"+Entry)
	if err != nil {
		return nil, err
	}
	for _, name := range folders {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		b := Bug{ID: path.Dir(name)}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Bug) int {
		return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.ID, b.ID))
	})
	return all, nil
}

// Find returns the entry with an id. The error says which id may have been meant.
func Find(id string) (Bug, error) {
	all, err := All()
	if err != nil {
		return Bug{}, err
	}
	ids := make([]string, len(all))
	for i, b := range all {
		if b.ID == id {
			return b, nil
		}
		ids[i] = b.ID
	}
	if meant := suggest.Question(Prefix, id, ids); meant != "" {
		return Bug{}, fmt.Errorf("unknown bug %q: %s", Prefix+id, meant)
	}
	return Bug{}, fmt.Errorf("unknown bug %q: choose one that doublegrant bugs lists", Prefix+id)
}

// About lists the names of the bugs in the library that a variant runs. The argument variant is the variant's id.
func About(variant string) (names []string, err error) {
	all, err := All()
	for _, b := range all {
		if b.Variant != "" && strings.HasPrefix(variant, b.Variant) {
			names = append(names, b.Name())
		}
	}
	return names, err
}

// Files returns the files of the entry's program, by name: the adapter, and what it needs.
func (b Bug) Files() (map[string][]byte, error) {
	all := map[string][]byte{}
	folder := cmp.Or(b.Program, b.ID)
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == Entry {
			continue
		}
		if all[e.Name()], err = files.ReadFile(path.Join(folder, e.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Example returns the program to show to the library's maintainers. It is the entry's file example.*, which runs
// without doublegrant, or else the adapter.
func (b Bug) Example() (name string, text []byte, err error) {
	for _, pattern := range []string{b.ID + "/example.*", cmp.Or(b.Program, b.ID) + "/main.*"} {
		found, err := fs.Glob(files, pattern)
		if err == nil && len(found) > 0 {
			text, err = files.ReadFile(found[0])
			return path.Base(found[0]), text, err
		}
	}
	return "", nil, nil
}
