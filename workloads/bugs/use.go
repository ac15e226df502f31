package bugs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Use says what a user runs: a library in any version, one version of a library, or all versions that a file pins. The
// zero value stands for every library.
type Use struct {
	name     string            // the library's name, as the user wrote it; empty: any library
	language string            // language of the packages in versions; empty: any language
	versions map[string]string // versions by the name of the package or of the library; empty: any version
}

// Match is an entry about a library that the user runs, with the user's version of the library.
type Match struct {
	Bug
	Used string `json:"used,omitempty"` // empty: no version was given
}

// lockFile describes a kind of file that pins versions. The language tells packages of the same name apart: three
// languages have a package called redis.
type lockFile struct {
	name     string
	language string
	read     func(text []byte) (map[string]string, error)
}

// lockFiles lists the kinds of files that can be read.
var lockFiles = []lockFile{
	{"go.mod", "Go", readGoMod}, {"requirements.txt", "Python", readRequirements},
	{"package-lock.json", "JavaScript", readPackageLock}, {"composer.lock", "PHP", readComposerLock},
	{"Gemfile.lock", "Ruby", readGemfileLock},
}

// Files lists the names of the files that [ParseUse] reads, separated by commas.
func Files() string {
	var all []string
	for _, f := range lockFiles {
		all = append(all, f.name)
	}
	return strings.Join(all, ", ")
}

// ParseUse parses a user's argument. The argument is a library (redsync), a version of a library (redsync@v4.10.0), or
// the path of a file that pins versions. An empty argument means every library. The error names what is wrong with the
// file.
func ParseUse(arg string) (Use, error) {
	if arg == "" {
		return Use{}, nil
	}
	for _, file := range lockFiles {
		if filepath.Base(arg) == file.name {
			return file.use(arg)
		}
	}
	if _, err := os.Stat(arg); err == nil {
		return Use{}, fmt.Errorf("no versions: %s is none of the files that are read: %s", arg, Files())
	}
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".json", ".lock", ".mod", ".sum", ".toml", ".txt", ".xml", ".yaml", ".yml":
		return Use{}, fmt.Errorf("no versions: there is no file %s", arg)
	}
	at := strings.LastIndex(arg, "@")
	if at <= 0 { // the name of a scope begins with it
		return Use{name: arg}, nil
	}
	return Use{name: arg[:at], versions: map[string]string{arg[:at]: arg[at+1:]}}, nil
}

// use reads the file at path and returns the versions that it pins.
func (f lockFile) use(path string) (Use, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Use{}, fmt.Errorf("no versions: %w", err)
	}
	versions, err := f.read(text)
	if err != nil {
		return Use{}, fmt.Errorf("no versions: %s cannot be read: %w", path, err)
	}
	return Use{language: f.language, versions: versions}, nil
}

// Meant returns a question such as ": did you mean redsync?" if no entry is about the named library, but an entry is
// about a library with a similar name. Otherwise it returns "".
func (u Use) Meant() string {
	all, err := All()
	if err != nil || u.name == "" {
		return ""
	}
	var names []string
	for _, b := range all {
		if _, used := u.versionOf(b); used {
			return ""
		}
		names = append(names, b.Library)
	}
	if meant := suggest.Question("", path.Base(u.name), slices.Compact(names)); meant != "" {
		return ": " + meant
	}
	return ""
}

// Pinned reports whether the user gave versions, after the library's name or by a file.
func (u Use) Pinned() bool { return u.versions != nil }

// Bugs lists the entries whose library the user runs in an affected version. An unknown version counts as affected.
func (u Use) Bugs() (found []Match, err error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		version, used := u.versionOf(b)
		if used && b.Affects(version) {
			found = append(found, Match{b, version})
		}
	}
	return found, nil
}

// versionOf reports whether the user runs the bug's library. It also returns the version, or "" if that is unknown.
func (u Use) versionOf(b Bug) (version string, used bool) {
	if !u.Pinned() && u.name == "" {
		return "", true
	}
	if u.language != "" && u.language != b.Language {
		return "", false
	}
	if u.name == "" {
		for name, v := range u.versions {
			if normal(name) == normal(b.Package) {
				return v, true
			}
		}
		return "", false
	}
	for _, of := range []string{b.Library, b.Package, b.ID} {
		if strings.Contains(normal(of), normal(u.name)) {
			return u.versions[u.name], true
		}
	}
	return "", false
}

// normal returns the same spelling for all spellings that Python takes for the same package.
func normal(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name))
}

// Affects reports whether a version has the bug. It returns true for a version that is empty or cannot be parsed.
func (b Bug) Affects(version string) bool {
	v := canonical(version)
	if v == "" {
		return true
	}
	since, fixed := canonical(b.Since), canonical(b.Fixed)
	return (since == "" || semver.Compare(v, since) >= 0) && (fixed == "" || semver.Compare(v, fixed) < 0)
}

// canonical returns a version in the form that package semver needs. It is empty if the version cannot be parsed.
func canonical(version string) string {
	return semver.Canonical("v" + strings.TrimPrefix(version, "v"))
}

func readGoMod(text []byte) (map[string]string, error) {
	f, err := modfile.Parse("go.mod", text, nil)
	switch {
	case err != nil:
		return nil, err
	case f.Module == nil:
		return nil, errors.New("it has no module line")
	}
	all := map[string]string{}
	for _, r := range f.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	for _, r := range f.Replace {
		if _, required := all[r.Old.Path]; required {
			delete(all, r.Old.Path)
			all[r.New.Path] = r.New.Version
		}
	}
	return all, nil
}

// requirement matches a line of requirements.txt, such as redis[hiredis] == 4.3.4 ; python_version > "3.7".
var requirement = regexp.MustCompile(`^([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(?:(===?|[<>~!]=?)\s*([^\s;,#]+))?`)

func readRequirements(text []byte) (map[string]string, error) {
	all := map[string]string{}
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-") {
			continue
		}
		m := requirement.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d is no requirement", n+1)
		}
		all[m[1]] = ""
		if strings.HasPrefix(m[2], "==") {
			all[m[1]] = m[3]
		}
	}
	return all, nil
}

func readPackageLock(text []byte) (map[string]string, error) {
	type pinned struct {
		Version string `json:"version"`
	}
	var lock struct {
		Packages     map[string]pinned `json:"packages"`     // by path, such as node_modules/redis
		Dependencies map[string]pinned `json:"dependencies"` // of version 1, by name
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	all := map[string]string{}
	for name, p := range lock.Dependencies {
		all[name] = p.Version
	}
	for path, p := range lock.Packages {
		if i := strings.LastIndex(path, "node_modules/"); i >= 0 {
			all[path[i+len("node_modules/"):]] = p.Version
		}
	}
	return all, nil
}

func readComposerLock(text []byte) (map[string]string, error) {
	type pinned []struct {
		Name    string `json:"name"`
		Version string `json:"version"` // v8.83.26, or a branch such as dev-main
	}
	var lock struct {
		Packages *pinned `json:"packages"`
		Dev      pinned  `json:"packages-dev"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	if lock.Packages == nil {
		return nil, errors.New("it has no packages")
	}
	all := map[string]string{}
	for _, p := range append(*lock.Packages, lock.Dev...) {
		all[p.Name] = p.Version
	}
	return all, nil
}

// gem matches a line of Gemfile.lock that has a gem, its version and perhaps its platform. Lines with the gem's
// dependencies are indented further, so they do not match.
var gem = regexp.MustCompile(`(?m)^    ([A-Za-z0-9][\w.-]*) \(([^\s()-]+)(?:-[^\s()]+)?\)\r?$`)

func readGemfileLock(text []byte) (map[string]string, error) {
	if !regexp.MustCompile(`(?m)^  specs:\r?$`).Match(text) {
		return nil, errors.New("it has no specs")
	}
	all := map[string]string{}
	for _, m := range gem.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = m[2]
	}
	return all, nil
}
