package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
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

func (a *app) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look whether this machine can run doublegrant, and how large",
		Args:  exactly(0, "none"),
		RunE: func(*cobra.Command, []string) error {
			findings := []finding{a.redisFinding(), filesFinding(), portsFinding(), loopbackFinding(), leftoversFinding()}
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
		},
	}
	cmd.Flags().StringVar(&a.flags.redis, "redis-server", "", "redis-server binary (default: $DOUBLEGRANT_REDIS_SERVER, then the PATH)")
	return cmd
}

func (a *app) redisFinding() finding {
	path, version, err := cluster.FindRedis(a.flags.redis)
	if err != nil {
		return finding{"redis-server", false, message(err)}
	}
	return finding{"redis-server", true, path + ": " + version}
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

// leftoversFinding lists folders that a run which was killed could not remove. Its processes died with it.
func leftoversFinding() finding {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "doublegrant-*"))
	if err != nil || len(dirs) == 0 {
		return finding{"leftovers", err == nil, "none"}
	}
	return finding{"leftovers", true, "of runs under way or killed: " + strings.Join(dirs, " ")}
}
