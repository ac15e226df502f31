package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// finding is one thing that doctor looked at.
type finding struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Is   string `json:"is"` // what was found, and what to do if it is not OK
}

// doctorFlags say what doctor does beside looking, and for whom it looks.
type doctorFlags struct {
	on         string
	image      string
	buildImage bool
	clean      bool
}

func (a *app) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look whether this machine can run doublegrant, and how large; remove what killed runs left",
		Example: "  doublegrant doctor --on docker    # Docker has to be there, too\n" +
			"  doublegrant doctor --clean        # remove orphaned folders and containers; runs under way are spared\n" +
			"  doublegrant doctor --build-image  # make " + cluster.LocalImage + " of this machine's redis-server",
		Args: exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if on := cluster.Platform(f.on); on != cluster.OnProcess && on != cluster.OnDocker {
				return usage("unknown platform %q: choose %s or %s", f.on, cluster.OnProcess, cluster.OnDocker)
			}
			return a.printFindings(a.examine(cmd.Context(), f))
		},
	}
	cmd.Flags().StringVar(&a.flags.redis, "redis-server", "", "redis-server binary (default: $DOUBLEGRANT_REDIS_SERVER, then the PATH)")
	cmd.Flags().StringVar(&f.on, "on", string(cluster.OnProcess), "platform that has to work: process or docker")
	cmd.Flags().StringVar(&f.image, "redis-image", "", "image of --on docker (default: $DOUBLEGRANT_REDIS_IMAGE, then redis:7, or "+cluster.LocalImage+")")
	cmd.Flags().BoolVar(&f.buildImage, "build-image", false, "make "+cluster.LocalImage+" of this machine's redis-server and its libraries")
	cmd.Flags().BoolVar(&f.clean, "clean", false, "remove orphaned folders and containers")
	return cmd
}

// examine makes what is to be made, and looks at everything.
func (a *app) examine(ctx context.Context, f doctorFlags) []finding {
	var all []finding
	if f.buildImage {
		all = append(all, a.buildFinding(ctx))
	}
	return append(all, a.redisFinding(f), a.dockerFinding(ctx, f), filesFinding(), portsFinding(), loopbackFinding(),
		leftoversFinding(ctx, f.clean))
}

func (a *app) printFindings(findings []finding) error {
	for _, f := range findings {
		if !f.OK {
			a.code = ExitFailed
		}
	}
	if a.json {
		return a.printJSON(findings)
	}
	for _, f := range findings {
		a.println("%-4s %-14s %s", map[bool]string{true: "ok", false: "BAD"}[f.OK], f.What, f.Is)
	}
	return nil
}

func (a *app) redisFinding(f doctorFlags) finding {
	path, version, err := cluster.FindRedis(a.flags.redis)
	if err != nil {
		return finding{"redis-server", f.on == string(cluster.OnDocker), message(err)} // containers bring their own
	}
	return finding{"redis-server", true, path + ": " + version}
}

// dockerFinding is bad news only to who wants containers.
func (a *app) dockerFinding(ctx context.Context, f doctorFlags) finding {
	said, err := cluster.Options{Image: f.image}.Docker(ctx)
	switch {
	case err == nil:
		return finding{"docker", true, said}
	case f.on == string(cluster.OnDocker):
		return finding{"docker", false, message(err)}
	default:
		return finding{"docker", true, "only --on docker needs it: " + message(err)}
	}
}

func (a *app) buildFinding(ctx context.Context) finding {
	version, err := cluster.BuildImage(ctx, a.flags.redis)
	if err != nil {
		return finding{"image", false, message(err)}
	}
	return finding{"image", true, cluster.LocalImage + " has Redis " + version}
}

func filesFinding() finding {
	n, err := cluster.FileLimit()
	if err != nil {
		return finding{"open files", false, err.Error()}
	}
	most := cluster.MaxClients(n)
	return finding{"open files", most >= 100, fmt.Sprintf("%d, enough for %d clients (ulimit -n raises it)", n, most)}
}

func portsFinding() finding {
	n := cluster.EphemeralPorts()
	return finding{"local ports", n >= 10000, fmt.Sprintf("%d (sysctl net.ipv4.ip_local_port_range)", n)}
}

func loopbackFinding() finding {
	ln, err := net.Listen("tcp", "127.251.1.1:0")
	if err != nil {
		return finding{"loopback", false, fmt.Sprintf("127.251.1.1 cannot be listened on: all of 127.0.0.0/8 must be local, as on Linux: %v", err)}
	}
	return finding{"loopback", ln.Close() == nil, "all of 127.0.0.0/8 is local"}
}

// leftoversFinding lists what runs that were killed could not remove, or removes it.
func leftoversFinding(ctx context.Context, clean bool) finding {
	var removed []cluster.Leftover
	var err error
	if clean {
		removed, err = cluster.RemoveOrphans(ctx)
	}
	all, err2 := cluster.Leftovers(ctx)
	if err := errors.Join(err, err2); err != nil {
		return finding{"leftovers", false, message(err)}
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
	return finding{"leftovers", true, leftoversText(removed, orphans, unmarked, owned)}
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
		parts = append(parts, "without our mark: "+leftoverNames(unmarked)+" (never removed; if of an older version, remove by hand)")
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
