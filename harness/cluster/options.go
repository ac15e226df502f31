package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Options holds a cluster's settings. The zero value is a usable default.
type Options struct {
	Clients int // number of connections to prepare for, of all groups together; default 100
	// RemoteClients says that the clients are in other processes, which use Cluster.Deployment. This process prepares
	// only one connection for each group.
	RemoteClients bool
	// ClientGroups is the number of client groups. Each has its own addresses and links; at most 200; default 5.
	ClientGroups int
	OpTimeout    time.Duration // read and write timeout of clients; default 500ms
	// Platform is the platform of the nodes, such as docker.Platform{}; default: processes of this machine.
	Platform    Platform
	RedisServer string // redis-server binary of processes; default: $DOUBLEGRANT_REDIS_SERVER, then the PATH
	Retries     int    // how often clients resend a command without an answer; default: not at all; go-redis's own is 3
	LogDir      string // folder in which nodes' logs stay; default: they are removed with the cluster

	// Replicas concerns Sentinel and Replicated topologies. The next four settings concern Sentinel topologies only.
	Replicas  int           // number of replicas, at most 9; default 2
	Sentinels int           // number of Sentinels, at most 9; default 3; a majority of them is the quorum
	DownAfter time.Duration // down-after-milliseconds of the Sentinels, 1s or more; default 1s
	// SlowSentinels makes Sentinels keep Redis's polling periods of 2 to 10 s, instead of 200 ms.
	SlowSentinels bool
	OwnSentinel   bool // group g asks only the Sentinel of its number (g mod Sentinels); default: group g asks all

	// The settings from MinReplicas to AOF protect acknowledged writes from loss.
	MinReplicas int           // the setting min-replicas-to-write; default 0: a primary alone may write
	MaxLag      time.Duration // min-replicas-max-lag, in whole seconds; default 10s, as Redis's own
	AOF         AOF           // policy of the append-only file; default NoAOF

	Clocks bool // nodes' clocks can be set with SetClock; needs a C compiler, see ErrNoCompiler
}

// AOF is the value of appendfsync, or NoAOF.
type AOF string

// Policies of the append-only file. Without the file a node that is killed restarts empty. AOFEverySec and AOFNoSync
// differ only if the whole machine dies, and no fault does that.
const (
	NoAOF       AOF = "" // no append-only file
	AOFAlways   AOF = "always"
	AOFEverySec AOF = "everysec"
	AOFNoSync   AOF = "no"
)

// redisEnv is the environment variable that names the redis-server binary.
const redisEnv = "DOUBLEGRANT_REDIS_SERVER"

// Errors of the environment, for errors.Is. Errors that wrap them say what to do.
var (
	ErrNoRedis = errors.New("no redis-server")
	ErrLimit   = errors.New("a limit of this machine is too low")
	// ErrNoCompiler marks a machine without a C compiler, which is needed to set clocks.
	ErrNoCompiler = errors.New("no C compiler")
)

// These bounds keep the addresses of nodes apart: Redis nodes are hosts 1 to 10, Sentinels 11 and on.
const (
	mostReplicas  = 9
	mostSentinels = 9
)

// maxGroups keeps group addresses inside 127.X.10.0/24.
const maxGroups = 200

func (o Options) withDefaults() Options {
	o.Clients = cmp.Or(o.Clients, 100)
	o.ClientGroups = cmp.Or(o.ClientGroups, 5)
	o.OpTimeout = cmp.Or(o.OpTimeout, 500*time.Millisecond)
	o.DownAfter = cmp.Or(o.DownAfter, defaultDownAfter)
	o.MaxLag = cmp.Or(o.MaxLag, 10*time.Second)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Retries < 0:
		return errors.New("cluster: Retries cannot be negative")
	case o.Clients < 0 || o.OpTimeout < 0 || o.ClientGroups < 0 || o.ClientGroups > maxGroups:
		return fmt.Errorf("cluster: Clients and OpTimeout cannot be negative, and ClientGroups is at most %d",
			maxGroups)
	case o.Replicas < 0 || o.Replicas > mostReplicas || o.Sentinels < 0 || o.Sentinels > mostSentinels:
		return fmt.Errorf("cluster: %d replicas and %d Sentinels: ask for at most %d and %d", o.Replicas, o.Sentinels,
			mostReplicas, mostSentinels)
	case o.DownAfter < defaultDownAfter:
		return fmt.Errorf("cluster: a DownAfter of %v is too near to the Sentinels' ping period: use %v or more",
			o.DownAfter, defaultDownAfter)
	case o.MinReplicas < 0 || o.MaxLag < time.Second || o.MaxLag%time.Second != 0:
		return errors.New("cluster: MinReplicas cannot be negative, and MaxLag is in whole seconds, 1s or more")
	case !slices.Contains([]AOF{NoAOF, AOFAlways, AOFEverySec, AOFNoSync}, o.AOF):
		return fmt.Errorf("cluster: unknown AOF policy %q: choose %s, %s or %s",
			o.AOF, AOFAlways, AOFEverySec, AOFNoSync)
	}
	return nil
}

// OldestRedis is the first major version that supports all commands used here, such as SENTINEL DEBUG.
const OldestRedis = 7

// MajorVersion returns the first number of a version. Without a number it returns 0, which counts as too old.
func MajorVersion(version string) (n int) {
	_, _ = fmt.Sscanf(version, "%d.", &n)
	return n
}

// versionWithin bounds the time that redis-server --version may take. Milliseconds are usual.
var versionWithin = 20 * time.Second

// versionOf returns what the binary prints as its version.
func versionOf(path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), versionWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second // its children may keep the output open
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it succeeded; only a child still holds the output open
	}
	return out, err
}

// FindRedis returns the path of the redis-server binary and the line in which it prints its version. It takes the path
// that the caller gives, if any, else $DOUBLEGRANT_REDIS_SERVER, else the redis-server in the PATH. The error wraps
// ErrNoRedis, also if the binary is not a Redis of version 7.0 or newer.
func FindRedis(named string) (path, version string, err error) {
	from := "--redis-server or Options.RedisServer"
	if named == "" {
		named, from = os.Getenv(redisEnv), "$"+redisEnv
	}
	if named == "" {
		named, from = "redis-server", "the PATH"
	}
	if path, err = exec.LookPath(named); err != nil && from == "$"+redisEnv {
		return "", "", fmt.Errorf("%w: %s is set to %q, which cannot be run: let it name a redis-server of version "+
			"%d.0 or newer, or unset it",
			ErrNoRedis, redisEnv, named, OldestRedis)
	}
	if err != nil && from != "the PATH" {
		return "", "", fmt.Errorf("%w: %q from %s cannot be run: name a redis-server of version %d.0 or newer there, "+
			"or leave it out",
			ErrNoRedis, named, from, OldestRedis)
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %q from %s cannot be run: install it (Debian: apt-get install redis-server) or "+
			"set %s",
			ErrNoRedis, named, from, redisEnv)
	}
	out, err := versionOf(path)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", "", fmt.Errorf("%w: %q from %s does not answer --version within %v: install one that does, or "+
			"set %s", ErrNoRedis, path, from, versionWithin, redisEnv)
	}
	version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	number := VersionNumber(version)
	if err != nil || MajorVersion(number) < OldestRedis {
		return "", "", fmt.Errorf("%w: %q from %s is not a redis-server of version %d.0 or newer (--version says %q): "+
			"install one, or set %s",
			ErrNoRedis, path, from, OldestRedis, version, redisEnv)
	}
	return path, version, nil
}

// RedisVersion returns the name and version of the server that FindRedis finds, such as "Redis 7.0.15".
func RedisVersion(named string) (string, error) {
	_, line, err := FindRedis(named)
	product, _, _ := strings.Cut(line, " ")
	return strings.TrimSpace(product + " " + VersionNumber(line)), err
}

// VersionNumber returns the version in the line that redis-server --version prints: 7.0.15 in "Redis server v=7.0.15
// sha=0".
func VersionNumber(line string) string {
	_, number, _ := strings.Cut(line, " v=")
	number, _, _ = strings.Cut(number, " ")
	return number
}
