package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Options are a cluster's settings. The zero value is a usable default.
type Options struct {
	Clients      int           // connections to prepare for, of all groups together; default 100
	ClientGroups int           // groups of clients with an address, hence links, of their own; default 5
	OpTimeout    time.Duration // read and write timeout of clients; default 500ms
	RedisServer  string        // redis-server binary; default: $DOUBLEGRANT_REDIS_SERVER, then the PATH
	LogDir       string        // where nodes' logs stay; default: they go with the cluster
}

// redisEnv is the environment variable that names the redis-server binary.
const redisEnv = "DOUBLEGRANT_REDIS_SERVER"

// Errors of the environment, for errors.Is. Their messages say what to do.
var (
	ErrNoRedis = errors.New("no redis-server")
	ErrLimit   = errors.New("a limit of this machine is too low")
)

// maxGroups keeps group addresses inside 127.X.10.0/24.
const maxGroups = 200

func (o Options) withDefaults() Options {
	o.Clients = cmp.Or(o.Clients, 100)
	o.ClientGroups = cmp.Or(o.ClientGroups, 5)
	o.OpTimeout = cmp.Or(o.OpTimeout, 500*time.Millisecond)
	return o
}

func (o Options) validate() error {
	if o.Clients < 0 || o.OpTimeout < 0 || o.ClientGroups < 0 || o.ClientGroups > maxGroups {
		return fmt.Errorf("cluster: Clients and OpTimeout cannot be negative, and ClientGroups is at most %d", maxGroups)
	}
	return nil
}

// oldestRedis is the first major version with all that is used here, such as SENTINEL DEBUG.
const oldestRedis = 7

// FindRedis returns the path of the redis-server binary and the line in which it tells its version: named if it is not
// empty, else $DOUBLEGRANT_REDIS_SERVER, else the one in the PATH. Anything but a Redis of version 7.0 or newer is
// ErrNoRedis.
func FindRedis(named string) (path, version string, err error) {
	from := "the options"
	if named == "" {
		named, from = os.Getenv(redisEnv), "$"+redisEnv
	}
	if named == "" {
		named, from = "redis-server", "the PATH"
	}
	if path, err = exec.LookPath(named); err != nil {
		return "", "", fmt.Errorf("%w: %q from %s cannot be run: install it (Debian: apt-get install redis-server) or set %s",
			ErrNoRedis, named, from, redisEnv)
	}
	out, err := exec.Command(path, "--version").Output()
	version = strings.TrimSpace(string(out))
	var major int
	_, number, ok := strings.Cut(version, " v=")
	if ok {
		_, _ = fmt.Sscanf(number, "%d.", &major) // 0 is too old
	}
	if err != nil || major < oldestRedis {
		return "", "", fmt.Errorf("%w: %q from %s is none of version %d.0 or newer (--version says %q): install one, or set %s",
			ErrNoRedis, path, from, oldestRedis, version, redisEnv)
	}
	return path, version, nil
}
