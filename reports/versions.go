package reports

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the version of one program or library.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

const self = "github.com/doublegrant/doublegrant"

// libraries lists the client libraries of Redis that this process may link, by module and name.
var libraries = []struct{ module, name string }{
	{"github.com/redis/go-redis/v9", "go-redis"},
	{"github.com/go-redsync/redsync/v4", "redsync"},
	{"github.com/bsm/redislock", "redislock"},
}

// Versions lists the programs and libraries involved in a search of this process: doublegrant, the server ("Redis
// 7.0.15"), the linked client libraries, and Go.
func Versions(server string) []Version {
	info, _ := debug.ReadBuildInfo()
	return versionsOf(info, server)
}

func versionsOf(info *debug.BuildInfo, server string) (all []Version) {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	product, number, _ := strings.Cut(server, " ")
	all = append(all, Version{"doublegrant", ownVersion(info)},
		Version{cmp.Or(product, "Redis"), cmp.Or(number, "unknown")})
	for _, l := range libraries {
		if v := moduleVersion(info, l.module); v != "" {
			all = append(all, Version{l.name, v})
		}
	}
	return append(all, Version{"Go", strings.TrimPrefix(runtime.Version(), "go") + " " + runtime.GOOS + "/" +
		runtime.GOARCH})
}

// ownVersion returns the version of doublegrant, with its commit if that is known.
func ownVersion(info *debug.BuildInfo) string {
	if info.Main.Path != self {
		return cmp.Or(moduleVersion(info, self), "unknown")
	}
	v := cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += ", commit " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}

// moduleVersion returns the version of a module that the process links. It returns "" if the process does not link it.
func moduleVersion(info *debug.BuildInfo, module string) string {
	for _, d := range info.Deps {
		if d.Path != module {
			continue
		}
		if d.Replace != nil {
			return d.Version + ", replaced"
		}
		return d.Version
	}
	return ""
}
