// Package skeleton writes the first files of a test of your own lock: in a language, as Lua scripts, or as a suite for
// CI. Each skeleton passes as it is written, and says where your own code goes.
package skeleton

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/suite/examples"
	"github.com/doublegrant/doublegrant/workloads/adapters"
)

//go:embed mylock/*.go lua/*.lua java/pom.xml suite/mine.yaml
var templates embed.FS

// Skeleton describes the files to write for a language, or for a suite.
type Skeleton struct {
	Name     string   // name of a language, or "suite"
	Change   string   // where the user's own code goes
	Needs    string   // what has to be installed beside doublegrant and redis-server; may be empty
	Commands []string // commands for a shell in the skeleton's folder; the last one ends with exit code 0
	sources  []source
}

// source is an embedded file that becomes a file of a skeleton.
type source struct {
	in   fs.FS
	path string
	name string // path in the skeleton's folder, with slashes; empty: the base of the field path
}

// File is a file of a skeleton.
type File struct {
	Name string // relative to the skeleton's folder, with slashes
	Text []byte
}

// All lists the skeletons.
func All() []Skeleton {
	take, give := source{in: templates, path: "lua/take.lua"}, source{in: templates, path: "lua/give.lua"}
	return []Skeleton{
		{
			Name: "go", Change: "the methods of Lock in lock.go", Needs: "Go " + goVersion,
			Commands: []string{"go mod tidy", "go test"},
			sources:  []source{{in: templates, path: "mylock/lock.go"}, {in: templates, path: "mylock/lock_test.go"}},
		},
		adapter("python", "lock.py", "python3 lock.py", "the class Lock in lock.py",
			"redis-py: pip install redis, or apt-get install python3-redis"),
		adapter("javascript", "lock.js", "node lock.js", "the class Lock in lock.js",
			"node-redis: npm install redis; or apt-get install node-redis, and export NODE_PATH=/usr/share/nodejs"),
		adapter("php", "lock.php", "php lock.php", "the class Lock in lock.php",
			"phpredis: pecl install redis, or apt-get install php-cli php-redis"),
		adapter("ruby", "lock.rb", "ruby lock.rb", "the class Lock in lock.rb",
			"redis-rb: gem install redis, or apt-get install ruby-redis"),
		adapter("java", "Lock.java", "java -cp 'lib/*:.' Lock", "the methods acquire and release in Lock.java",
			"a JDK, and Jedis in the folder lib: mvn -q dependency:copy-dependencies -DoutputDirectory=lib",
			"javac -cp 'lib/*' Lock.java").with(source{in: templates, path: "java/pom.xml"}),
		adapter("c", "lock.c", "./lock", "the functions take, renew and give in lock.c",
			"hiredis: apt-get install gcc libc6-dev libhiredis-dev", "cc -o lock lock.c -lhiredis"),
		{
			Name: "lua", Change: "take.lua and give.lua",
			Commands: []string{"doublegrant explore --script take.lua --as lock --release give.lua"},
			sources:  []source{take, give},
		},
		{
			Name: "suite", Change: "take.lua, give.lua, and the runs of mine.yaml",
			Commands: []string{"doublegrant suite mine.yaml"},
			sources: []source{
				{in: templates, path: "suite/mine.yaml"}, take, give,
				{in: examples.Files, path: "github.yaml", name: ".github/workflows/doublegrant.yaml"},
				{in: examples.Files, path: "gitlab.yaml", name: ".gitlab-ci.yml"},
			},
		},
	}
}

// adapter returns the skeleton of an adapter in the given language. The parameter file is the name of the adapter's
// source file, and command is the command line that starts the adapter. The commands in the list build have to run
// before that.
func adapter(language, file, command, change, needs string, build ...string) Skeleton {
	return Skeleton{
		Name: language, Change: change, Needs: needs,
		Commands: append(build, "doublegrant adapter check -- "+command, "doublegrant explore -- "+command),
		sources:  []source{{in: adapters.Files, path: path.Join(language, file)}},
	}
}

func (s Skeleton) with(more source) Skeleton {
	s.sources = append(s.sources, more)
	return s
}

// Names lists the names of all skeletons.
func Names() (all []string) {
	for _, s := range All() {
		all = append(all, s.Name)
	}
	return all
}

// Find returns the skeleton with the given name. If there is none, the error suggests a similar name.
func Find(name string) (Skeleton, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return Skeleton{}, fmt.Errorf("no skeleton for %q: %s", name, suggest.DidYouMean(name, Names()))
}

// Files returns the files of the skeleton. A Go module asks for the given version of doublegrant. If the version is
// empty, go mod tidy chooses the latest one.
func (s Skeleton) Files(version string) (all []File, err error) {
	if s.Name == "go" {
		all = append(all, File{"go.mod", goMod(version)})
	}
	for _, f := range s.sources {
		text, err := fs.ReadFile(f.in, f.path)
		if err != nil {
			return nil, err
		}
		if f.name == "" {
			f.name = path.Base(f.path)
		}
		all = append(all, File{f.name, text})
	}
	return all, nil
}

// goVersion is the version of Go that doublegrant needs.
const goVersion = "1.26.0"

// goMod returns the go.mod of a module that tests a lock.
func goMod(version string) []byte {
	text := "module mylock\n\ngo " + goVersion + "\n"
	if version != "" {
		text += "\nrequire github.com/doublegrant/doublegrant " + version + "\n"
	}
	return []byte(text)
}
