package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// finding is the result of one check of the command doctor.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Is   string `json:"is"` // what was found; if not OK, often with the remedy

	Do    string         `json:"do,omitempty"`      // remedy; empty: none is needed, or the field Is contains it
	Warn  bool           `json:"warning,omitempty"` // true: what was found is OK, but perhaps not for every run
	Limit *cluster.Check `json:"limit,omitempty"`
}

// examination is the JSON output of the command doctor.
type examination struct {
	reports.Head
	OK       bool      `json:"ok"` // whether all findings are OK
	Findings []finding `json:"findings"`
}

// word sums up a finding in one word: ok, warn or BAD.
func (f finding) word() string {
	switch {
	case !f.OK:
		return "BAD"
	case f.Warn:
		return "warn"
	}
	return "ok"
}

// doctorFlags say what the command doctor checks, builds and removes.
type doctorFlags struct {
	on      string
	image   string
	clients int // number of clients in the runs that the machine has to carry
	clean   bool

	buildImage        bool
	buildHarnessImage bool
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "check whether this machine can run doublegrant, and how many clients; remove leftovers of killed runs",
		Example: "  doublegrant doctor --clients 4000 # which limit is too low for that size, and how to raise it\n" +
			"  doublegrant doctor --on docker    # also check that Docker works\n" +
			"  doublegrant doctor --clean        # remove orphaned folders and containers, except those of runs in " +
			"progress\n" +
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
	cmd.Flags().StringVar(&f.on, "on", cluster.OnProcess, "platform to check: process or docker")
	cmd.Flags().StringVar(&f.image, "redis-image", "",
		"image for --on docker (default: $DOUBLEGRANT_REDIS_IMAGE, then redis:7, or "+docker.LocalImage+")")
	cmd.Flags().IntVar(&f.clients, "clients", 100, "number of clients that this machine has to support")
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
	for _, f := range findings {
		fmt.Fprint(a.out, texttable.Fold(fmt.Sprintf("%-4s %-14s ", f.word(), f.What), f.text(),
			cmp.Or(texttable.Width(a.terminal), math.MaxInt)))
	}
	return nil
}

// text says what was found and what to do, on one line.
func (f finding) text() string {
	if f.Do == "" {
		return f.Is
	}
	return f.Is + ": " + f.Do
}

func (a *app) redisFinding(f doctorFlags) finding {
	path, version, err := cluster.FindRedis(a.place.redis)
	if err != nil {
		// containers bring their own Redis
		return finding{What: "redis-server", OK: f.on == cluster.OnDocker, Is: message(err)}
	}
	version, _, _ = strings.Cut(version, " sha=") // what follows tells builds apart
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
		f.Warn, f.Do = true, "its clocks cannot be set without a C compiler here (Debian: apt-get install gcc "+
			"libc6-dev)"
	}
	return f
}

// limitFindings compares this machine's limits with what a run of f.clients needs. A limit that is too low is BAD if no
// cluster would start, and otherwise a warning.
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

// loopbackFinding reports whether nodes can listen on addresses of this machine's loopback, and at Redis's usual ports.
func loopbackFinding(r cluster.Reach) finding {
	switch {
	case r.Err != nil:
		return finding{What: "loopback", Is: message(r.Err)}
	case !r.IsDefaultPort:
		return finding{What: "loopback", OK: true, Warn: true,
			Is: fmt.Sprintf("another program listens on Redis's usual ports at all addresses: nodes use port %d "+
				"instead", r.Port)}
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

// libraryFinding reports which libraries of other languages are missing. The finding is always OK, since only the
// variants in those languages need them.
func libraryFinding() finding {
	image, _ := docker.CurrentImage()
	f := librariesFinding(plan.Missing(), image != "")
	used, replacements := interpreters()
	return withInterpreters(f, used, replacements)
}

// interpreters finds the interpreters, such as python3, that run the catalogue's variants in other languages, and
// returns their paths. If the first interpreter in the PATH lacks a library, replacements maps its path to the command
// of a later one.
func interpreters() (used []string, replacements map[string]string) {
	replacements = map[string]string{}
	for _, v := range workloads.Catalogue() {
		command, skipped := adapter.Interpreter(v)
		if path, err := exec.LookPath(command); command != "" && err == nil {
			used = append(used, path)
		}
		if path, err := exec.LookPath(skipped); skipped != "" && err == nil {
			replacements[path] = command
		}
	}
	slices.Sort(used)
	return slices.Compact(used), replacements
}

// withInterpreters adds both results of the function interpreters to a finding. An interpreter that lacks a library is
// a warning, since users may start their own adapters with it.
func withInterpreters(f finding, used []string, replacements map[string]string) finding {
	if len(used) > 0 {
		f.Is += "; looked at " + units.And(used)
	}
	for _, path := range slices.Sorted(maps.Keys(replacements)) {
		f.Warn = true
		f.Is = fmt.Sprintf("%s, the first in the PATH, lacks a library: start your own adapters with %s; %s", path,
			replacements[path], f.Is)
	}
	return f
}

// librariesFinding names the packages that are missing. The argument missing has an error for each variant that cannot
// run. Inside the image of this program nothing can be installed, so the remedy is to install doublegrant outside of
// it.
func librariesFinding(missing []error, insideImage bool) finding {
	f := finding{What: "libraries", OK: true, Is: "all that variants in other languages need is installed"}
	if len(missing) == 0 {
		return f
	}
	var packages []string
	for _, err := range missing {
		_, names, _ := strings.Cut(message(err), "apt-get install ")
		packages = append(packages, strings.Fields(names)...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	f.Is = units.Plural(int64(len(missing)), "variant of another language", "variants of other languages") + " cannot run"
	f.Do = "apt-get install " + strings.Join(packages, " ")
	if insideImage {
		f.Do = "they are not in this image: use a doublegrant outside of it, beside " + strings.Join(packages, " ")
	}
	return f
}

// leftoversFinding lists what killed runs left behind. If the argument clean is true, it first removes what it can.
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
		parts = append(parts, "left by killed runs: "+leftoverNames(orphans)+" (doublegrant doctor --clean removes "+
			"them)")
	}
	if len(unmarked) > 0 {
		parts = append(parts, "not marked as doublegrant's: "+leftoverNames(unmarked)+
			" (never removed automatically; remove those of older versions by hand)")
	}
	if owned > 0 {
		parts = append(parts, fmt.Sprintf("folders and containers of runs in progress: %d", owned))
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
