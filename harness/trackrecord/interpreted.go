package trackrecord

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// unpacked is the folder of a program in which its Debian packages are unpacked.
const unpacked = "packages"

// unpack fetches the packages of Build.Needs from Debian and unpacks them beside the program. A package is named with
// its version, in which * at the end stands for any revision: python3-rq=1.13.0*. Nothing is installed.
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

// interpreter returns the path of the interpreter called name. It runs it with the arguments probe, which fail if the
// interpreter lacks one of the packages.
func interpreter(name, packages string, probe ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", missingf("no %s command: apt-get install %s", name, packages)
	}
	if err := exec.Command(path, probe...).Run(); err != nil {
		return "", missingf("%s lacks a package: apt-get install %s", name, packages)
	}
	return path, nil
}

// pythonToolchain runs Debian's Python, in which the unpacked packages come before those of the machine.
var pythonToolchain = toolchain{
	shared: map[string]string{"lock.py": "python/lock.py", "redis_py_lock.py": "python/redis_py_lock.py",
		"rq_scheduler.py": "python/rq_scheduler.py", "tooz_lock.py": "python/tooz_lock.py"},
	make: unpack,
	command: func(dir string, build bugs.Build) ([]string, error) {
		python, err := interpreter("/usr/bin/python3", "python3", "-c", "")
		if err != nil {
			return nil, err
		}
		path := "PYTHONPATH=" + filepath.Join(dir, unpacked, "usr/lib/python3/dist-packages")
		return append([]string{"env", path, python, filepath.Join(dir, "main.py")}, build.Args...), nil
	},
}

// phpToolchain runs PHP, in which the unpacked packages come before those of the machine.
var phpToolchain = toolchain{
	shared: map[string]string{"serve.php": "php/serve.php"},
	make:   unpack,
	command: func(dir string, build bugs.Build) ([]string, error) {
		php, err := interpreter("php", "php-cli php-redis", "-r", "exit(extension_loaded('redis') ? 0 : 1);")
		if err != nil {
			return nil, err
		}
		path := "include_path=" + filepath.Join(dir, unpacked, "usr/share/php") + ":/usr/share/php"
		return append([]string{php, "-d", path, filepath.Join(dir, "main.php")}, build.Args...), nil
	},
}

// rubyToolchain runs Ruby, which finds the unpacked gems before those of the machine.
var rubyToolchain = toolchain{
	shared: map[string]string{"lock.rb": "ruby/lock.rb"},
	make:   unpack,
	command: func(dir string, build bugs.Build) ([]string, error) {
		ruby, err := interpreter("ruby", "ruby", "-e", "")
		if err != nil {
			return nil, err
		}
		root := filepath.Join(dir, unpacked, "usr")
		gems := "GEM_PATH=" + filepath.Join(root, "share/rubygems-integration/all")
		return append([]string{"env", gems, ruby, "-I", filepath.Join(root, "lib/ruby/vendor_ruby"),
			filepath.Join(dir, "main.rb")}, build.Args...), nil
	},
}

// perlToolchain runs Debian's Perl, in which the unpacked modules come before those of the machine.
var perlToolchain = toolchain{
	shared: map[string]string{"serve.pl": "perl/serve.pl"},
	make:   unpack,
	command: func(dir string, build bugs.Build) ([]string, error) {
		perl, err := interpreter("/usr/bin/perl", "perl", "-MJSON::PP", "-e", "")
		if err != nil {
			return nil, err
		}
		root := filepath.Join(dir, unpacked, "usr")
		compiled, err := filepath.Glob(filepath.Join(root, "lib/*/perl5/*")) // by architecture and version
		if err != nil {
			return nil, err
		}
		libraries, err := filepath.Glob(filepath.Join(root, "lib/*-linux-gnu*"))
		if err != nil {
			return nil, err
		}
		modules := append(compiled, filepath.Join(root, "share/perl5"))
		return append([]string{"env", "PERL5LIB=" + strings.Join(modules, ":"),
			"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"), perl, filepath.Join(dir, "main.pl")}, build.Args...), nil
	},
}

// nodeToolchain runs Node.js, in which the unpacked packages come before those of the machine.
var nodeToolchain = toolchain{
	make: unpack,
	command: func(dir string, build bugs.Build) ([]string, error) {
		node, err := interpreter("node", "nodejs", "-e", "")
		if err != nil {
			return nil, err
		}
		path := "NODE_PATH=" + filepath.Join(dir, unpacked, "usr/share/nodejs")
		return append([]string{"env", path, node, filepath.Join(dir, "main.js")}, build.Args...), nil
	},
}
