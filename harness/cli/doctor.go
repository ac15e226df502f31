package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// finding is the result of one of doctor's checks.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Is   string `json:"is"` // what was found, and the remedy if it is not OK

	Do    string         `json:"do,omitempty"`      // remedy, unless Is has it
	Warn  bool           `json:"warning,omitempty"` // OK, but perhaps not for every run
	Limit *cluster.Check `json:"limit,omitempty"`
}

// examination is the JSON output of doctor.
type examination struct {
	reports.Head
	OK       bool      `json:"ok"` // all findings are OK
	Findings []finding `json:"findings"`
}

// word sums up a finding in one word.
func (f finding) word() string {
	switch {
	case !f.OK:
		return "BAD"
	case f.Warn:
		return "warn"
	}
	return "ok"
}

// doctorFlags say what doctor checks, builds and removes.
type doctorFlags struct {
	on      string
	image   string
	clients int // clients of the runs that the machine has to carry
	clean   bool

	buildImage        bool
	buildHarnessImage bool
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look whether this machine can run doublegrant, and how large; remove what killed runs left",
		Example: "  doublegrant doctor --clients 4000 # for runs of that size: which limit is short, and how to " +
			"raise it\n" +
			"  doublegrant doctor --on docker    # Docker has to be there, too\n" +
			"  doublegrant doctor --clean        # remove orphaned folders and containers; " +
			"runs under way are spared\n" +
			"  doublegrant doctor --build-image  # make " + docker.LocalImage + " of this machine's redis-server\n" +
			"  doublegrant doctor --build-harness-image # make " + docker.HarnessImage +
			" of doublegrant and redis-server",
		Args: exactArgs(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.on != cluster.OnProcess && f.on != cluster.OnDocker {
				return usage("unknown platform %q: choose %s or %s", f.on, cluster.OnProcess, cluster.OnDocker)
			}
			if f.clients < 1 {
				return usage("--clients %d: ask for 1 or more", f.clients)
			}
			return a.printFindings(a.examine(cmd.Context(), f))
		},
	}
	a.place.addRedis(cmd)
	cmd.Flags().StringVar(&f.on, "on", cluster.OnProcess, "platform that has to work: process or docker")
	cmd.Flags().StringVar(&f.image, "redis-image", "",
		"image of --on docker (default: $DOUBLEGRANT_REDIS_IMAGE, then redis:7, or "+docker.LocalImage+")")
	cmd.Flags().IntVar(&f.clients, "clients", 100, "clients that this machine has to carry")
	cmd.Flags().BoolVar(&f.buildImage, "build-image", false,
		"make "+docker.LocalImage+" of this machine's redis-server and its libraries")
	cmd.Flags().BoolVar(&f.buildHarnessImage, "build-harness-image", false,
		"make "+docker.HarnessImage+" of this doublegrant, this machine's redis-server and their libraries")
	cmd.Flags().BoolVar(&f.clean, "clean", false, "remove orphaned folders and containers")
	return cmd
}

// examine builds images if asked to, and then makes all checks.
func (a *app) examine(ctx context.Context, f doctorFlags) []finding {
	var all []finding
	if f.buildImage {
		all = append(all, a.buildFinding(ctx))
	}
	if f.buildHarnessImage {
		all = append(all, a.harnessImageFinding(ctx))
	}
	all = append(all, a.redisFinding(f), a.dockerFinding(ctx, f))
	all = append(all, limitFindings(f)...)
	return append(all, loopbackFinding(cluster.Addresses()), roomFinding(), libraryFinding(),
		leftoversFinding(ctx, f.clean))
}

func (a *app) printFindings(findings []finding) error {
	for _, f := range findings {
		if !f.OK {
			a.code = ExitFailed
		}
	}
	if a.json {
		return a.printJSON(examination{reports.HeadOf("doctor"), a.code == ExitMet, findings})
	}
	const column = 14
	for _, f := range findings {
		if len(f.What) > column { // a long name gets its own line, so that the column stays narrow
			a.println("%-4s %s\n%-4s %-*s %s", f.word(), f.What, "", column, "", f.Is)
		} else {
			a.println("%-4s %-*s %s", f.word(), column, f.What, f.Is)
		}
		if f.Do != "" {
			a.println("%-4s %-14s %s", "", "", f.Do)
		}
	}
	return nil
}

func (a *app) redisFinding(f doctorFlags) finding {
	path, version, err := cluster.FindRedis(a.place.redis)
	if err != nil {
		// containers bring their own Redis
		return finding{What: "redis-server", OK: f.on == cluster.OnDocker, Is: message(err)}
	}
	return finding{What: "redis-server", OK: true, Is: path + ": " + version}
}

// dockerFinding checks for Docker. A missing Docker is OK unless containers are wanted.
func (a *app) dockerFinding(ctx context.Context, f doctorFlags) finding {
	description, err := docker.Platform{Image: f.image}.Describe(ctx)
	switch {
	case err == nil:
		return finding{What: "docker", OK: true, Is: description}
	case f.on == cluster.OnDocker:
		return finding{What: "docker", Is: message(err)}
	default:
		return finding{What: "docker", OK: true, Is: "only --on docker needs it: " + message(err)}
	}
}

func (a *app) buildFinding(ctx context.Context) finding {
	version, err := docker.BuildImage(ctx, a.place.redis)
	if err != nil {
		return finding{What: "image", Is: message(err)}
	}
	return finding{What: "image", OK: true, Is: docker.LocalImage + " has Redis " + version}
}

// harnessImageFinding builds an image of this program.
func (a *app) harnessImageFinding(ctx context.Context) finding {
	made, err := docker.BuildHarnessImage(ctx, docker.Harness{RedisServer: a.place.redis, Version: version()})
	if err != nil {
		return finding{What: "image", Is: message(err)}
	}
	f := finding{What: "image", OK: true,
		Is: fmt.Sprintf("%s has this doublegrant and Redis %s, %.0f MiB", made.Name, made.Redis,
			float64(made.Size)/(1<<20))}
	if !made.Clocks {
		f.Warn, f.Do = true, "clocks cannot be set in it: that needs a C compiler here (Debian: apt-get install gcc "+
			"libc6-dev)"
	}
	return f
}

// limitFindings compares this machine's limits with what a run of f.clients needs. A limit that may be too low is a
// warning.
func limitFindings(f doctorFlags) (all []finding) {
	for _, c := range (cluster.Options{Clients: f.clients}).Checks() {
		one := finding{What: c.Name, OK: !c.Short() || !c.Fatal, Warn: c.Short() && !c.Fatal, Is: c.Finding(),
			Limit: &c}
		if c.Short() {
			one.Do = c.Remedy()
		}
		all = append(all, one)
	}
	return all
}

// loopbackFinding reports on the addresses for nodes.
func loopbackFinding(r cluster.Reach) finding {
	switch {
	case r.Err != nil:
		return finding{What: "loopback", Is: message(r.Err)}
	case !r.IsDefaultPort:
		return finding{What: "loopback", OK: true, Warn: true,
			Is: fmt.Sprintf("another program listens at all addresses on Redis's own ports: "+
				"nodes listen on port %d instead", r.Port)}
	}
	return finding{What: "loopback", OK: true, Is: "all of 127.0.0.0/8 is local"}
}

// roomFinding reports whether temporary files can be written.
func roomFinding() finding {
	if err := cluster.TempRoom(); err != nil {
		return finding{What: "temp folder", Is: message(err)}
	}
	return finding{What: "temp folder", OK: true, Is: "can be written to " + os.TempDir()}
}

// libraryFinding reports which libraries of other languages are missing. It is always OK, since only their own variants
// need them.
func libraryFinding() finding {
	var missing []string
	for _, err := range plan.Missing() {
		missing = append(missing, message(err))
	}
	if len(missing) == 0 {
		return finding{What: "libraries", OK: true, Is: "those of other languages that the catalogue has are there"}
	}
	return finding{What: "libraries", OK: true, Is: "only these variants need them: " + strings.Join(missing, "; ")}
}

// leftoversFinding lists what killed runs left behind. With clean, it removes that first.
func leftoversFinding(ctx context.Context, clean bool) finding {
	sites := docker.LocalDaemon(ctx)
	var removed []cluster.Leftover
	var err error
	if clean {
		removed, err = cluster.RemoveOrphans(ctx, sites...)
	}
	all, err2 := cluster.Leftovers(ctx, sites...)
	if err := errors.Join(err, err2); err != nil {
		return finding{What: "leftovers", Is: message(err)}
	}
	var orphans, unmarked []cluster.Leftover
	owned := 0
	for _, l := range all {
		switch {
		case l.Unmarked:
			unmarked = append(unmarked, l)
		case l.Owned:
			owned++
		default:
			orphans = append(orphans, l)
		}
	}
	return finding{What: "leftovers", OK: true, Is: leftoversText(removed, orphans, unmarked, owned)}
}

func leftoversText(removed, orphans, unmarked []cluster.Leftover, owned int) string {
	var parts []string
	if len(removed) > 0 {
		parts = append(parts, "removed: "+leftoverNames(removed))
	}
	if len(orphans) > 0 {
		parts = append(parts, "of killed runs: "+leftoverNames(orphans)+" (doublegrant doctor --clean removes them)")
	}
	if len(unmarked) > 0 {
		parts = append(parts, "without our mark: "+leftoverNames(unmarked)+
			" (never removed; if of an older version, remove by hand)")
	}
	if owned > 0 {
		parts = append(parts, fmt.Sprintf("folders and containers of runs under way: %d", owned))
	}
	return cmp.Or(strings.Join(parts, "; "), "none")
}

func leftoverNames(all []cluster.Leftover) string {
	var names []string
	for _, l := range all {
		names = append(names, l.Kind+" "+l.Name)
	}
	return strings.Join(names, ", ")
}
