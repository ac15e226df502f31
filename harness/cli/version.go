package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/reports"
)

// built describes the build of this program.
type built struct {
	reports.Head
	Version  string `json:"version"` // version of the module; "(devel)" or a pseudo-version outside a release
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`     // time of the revision
	Modified bool   `json:"modified,omitempty"` // whether the sources had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`

	Image string `json:"image,omitempty"` // container image that the program runs in; see docker.BuildHarnessImage
	Redis string `json:"redis,omitempty"` // version of Redis in that image
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version, its commit and the version of Go that built it",
		Args:  exactArgs(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			b := buildOf(debug.ReadBuildInfo())
			b.Image, b.Redis = docker.CurrentImage()
			if a.json {
				return a.printJSON(b)
			}
			a.println("%s", b)
			if b.Image != "" {
				a.println("image %s, Redis %s", b.Image, b.Redis)
			}
			return nil
		},
	}
}

// version returns the program's version in one line.
func version() string { return buildOf(debug.ReadBuildInfo()).String() }

// buildOf reads the build information that the Go command stored in the program. If ok is false, the program has none.
func buildOf(info *debug.BuildInfo, ok bool) built {
	b := built{
		Head: reports.HeadOf("version"), Version: "unknown",
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if !ok {
		return b
	}
	b.Version, b.Go = info.Main.Version, info.GoVersion
	if b.Version == "" {
		b.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns a line such as "doublegrant v1.2.0, commit 0123456789ab of 2026-01-02T15:04:05Z, go1.26.0,
// linux/amd64".
func (b built) String() string {
	s := "doublegrant " + b.Version
	if b.Revision != "" {
		s += fmt.Sprintf(", commit %.12s", b.Revision)
		if b.Time != "" {
			s += " of " + b.Time
		}
		if b.Modified {
			s += ", modified"
		}
	}
	return s + ", " + b.Go + ", " + b.Platform
}
