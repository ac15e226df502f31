package cluster

import "context"

// WatchFolder has the watchdog remove a folder when this process ends; UnwatchFolder is what the watchdog sees of that end.
var WatchFolder = watchFolder

// UnwatchFolder ends the pipe of a folder's watchdog, as the end of this process does.
func UnwatchFolder(path string) error {
	watchdogs.Lock()
	defer watchdogs.Unlock()
	pipe := watchdogs.of[path]
	delete(watchdogs.of, path)
	return pipe.Close()
}

// SweepHolding removes the orphans of a site, as a start does that has claimed the subnet that it calls claimed with.
func SweepHolding(ctx context.Context, s Site, claimed func(subnet string)) ([]Leftover, error) {
	own, err := claimSubnet()
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.release() }()
	claimed(own.label())
	return removeOrphanHosts(ctx, s, own)
}
