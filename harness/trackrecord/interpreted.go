package trackrecord

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// unpacked is the name of the folder, inside a program's folder, into which Debian packages are unpacked.
const unpacked = "packages"

// unpack fetches the packages of Build.Needs from Debian and unpacks them beside the program. A package is named with
// its version. A * at the end of the version stands for any revision: python3-rq=1.13.0*. Nothing is installed.
func unpack(ctx context.Context, dir string, _ bugs.Bug, build bugs.Build) error {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return missingf("no %s command: packages are unpacked on Debian only, by apt-get and dpkg-deb", tool)
		}
	}
	for _, need := range build.Needs {
		cmd := exec.CommandContext(ctx, "apt-get", "download", need)
		cmd.Dir = dir
		if said, err := cmd.CombinedOutput(); err != nil {
			return missingf("no package %s: %s; run apt-get update on Debian 12", need, lastLine(said))
		}
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if said, err := exec.CommandContext(ctx, "dpkg-deb", "-x", archive, filepath.Join(dir, unpacked)).
			CombinedOutput(); err != nil {
			return missingf("%s cannot be unpacked: %s", filepath.Base(archive), lastLine(said))
		}
	}
	return nil
}

// interpreted says how programs in an interpreted language are run. Unpacked packages come before the machine's own
// packages. In the fields env and options, {usr} stands for the folder usr of the unpacked packages.
type interpreted struct {
	shared   map[string]string // files that each program needs, as in the type toolchain
	name     string            // the interpreter's command, or its path if only Debian's interpreter will do
	packages string            // names of the interpreter's Debian packages
	probe    []string          // arguments with which the interpreter fails if one of these packages is missing
	env      []string          // variables as NAME=value; a value is paths or patterns of paths, separated by colons
	options  []string          // options of the interpreter
	main     string            // name of the program's main file
}

func (in interpreted) toolchain() toolchain {
	return toolchain{shared: in.shared, make: unpack, command: in.command}
}

func (in interpreted) command(dir string, build bugs.Build) ([]string, error) {
	path, err := exec.LookPath(in.name)
	if err != nil {
		return nil, missingf("no %s command: apt-get install %s", in.name, in.packages)
	}
	if err := exec.Command(path, in.probe...).Run(); err != nil {
		return nil, missingf("%s lacks a package: apt-get install %s", in.name, in.packages)
	}
	usr := strings.NewReplacer("{usr}", filepath.Join(dir, unpacked, "usr"))
	var command []string
	for _, v := range in.env {
		name, patterns, _ := strings.Cut(usr.Replace(v), "=")
		paths, err := matching(strings.Split(patterns, ":"))
		if err != nil {
			return nil, err
		}
		command = append(command, name+"="+strings.Join(paths, ":"))
	}
	if len(command) > 0 {
		command = slices.Insert(command, 0, "env")
	}
	command = append(command, path)
	for _, option := range in.options {
		command = append(command, usr.Replace(option))
	}
	return append(append(command, filepath.Join(dir, in.main)), build.Args...), nil
}

// matching lists the paths that match any of the patterns. It lists a pattern without * unchanged, even if no such path
// exists.
func matching(patterns []string) (paths []string, err error) {
	for _, pattern := range patterns {
		found := []string{pattern}
		if strings.Contains(pattern, "*") {
			if found, err = filepath.Glob(pattern); err != nil {
				return nil, err
			}
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

var (
	pythonToolchain = interpreted{
		shared: map[string]string{"lock.py": "python/lock.py", "redis_py_lock.py": "python/redis_py_lock.py",
			"rq_scheduler.py": "python/rq_scheduler.py", "tooz_lock.py": "python/tooz_lock.py"},
		name: "/usr/bin/python3", packages: "python3", probe: []string{"-c", ""},
		env: []string{"PYTHONPATH={usr}/lib/python3/dist-packages"}, main: "main.py",
	}.toolchain()
	phpToolchain = interpreted{
		shared: map[string]string{"serve.php": "php/serve.php"},
		name:   "php", packages: "php-cli php-redis", probe: []string{"-r", "exit(extension_loaded('redis') ? 0 : 1);"},
		options: []string{"-d", "include_path={usr}/share/php:/usr/share/php"}, main: "main.php",
	}.toolchain()
	rubyToolchain = interpreted{
		shared: map[string]string{"lock.rb": "ruby/lock.rb"}, name: "ruby", packages: "ruby", probe: []string{"-e", ""},
		env:     []string{"GEM_PATH={usr}/share/rubygems-integration/all"},
		options: []string{"-I", "{usr}/lib/ruby/vendor_ruby"}, main: "main.rb",
	}.toolchain()
	perlToolchain = interpreted{
		shared: map[string]string{"serve.pl": "perl/serve.pl"},
		name:   "/usr/bin/perl", packages: "perl", probe: []string{"-MJSON::PP", "-e", ""},
		// perl5 has compiled modules by architecture and version
		env:  []string{"PERL5LIB={usr}/lib/*/perl5/*:{usr}/share/perl5", "LD_LIBRARY_PATH={usr}/lib/*-linux-gnu*"},
		main: "main.pl",
	}.toolchain()
	nodeToolchain = interpreted{
		name: "node", packages: "nodejs", probe: []string{"-e", ""}, env: []string{"NODE_PATH={usr}/share/nodejs"},
		main: "main.js",
	}.toolchain()
)
