package cluster

import "time"

// BoundDocker sets how long calls to the Docker daemon may take.
func BoundDocker(d time.Duration) { dockerWithin, findWithin = d, d }

// WatchdogEnv names the environment variable that a watchdog is known by: its value is the pid of whom it watches.
const WatchdogEnv = watchdogEnv

// ProcessMark and ProcessLives are how a container's owner is known when its folder is gone.
var (
	ProcessMark  = processMark
	ProcessLives = processLives
)
