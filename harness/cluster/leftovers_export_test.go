package cluster

import "context"

// WatchFolder makes the watchdog remove a folder when this process ends. UnwatchFolder makes the watchdog believe that
// it has ended.
var WatchFolder = watchFolder

// ForgetFolder tells a folder's watchdog that the folder is gone.
var ForgetFolder = forgetFolder

// SetShell sets the shell that watches folders.
func SetShell(path string) (undo func()) {
	was := shell
	shell = path
	return func() { shell = was }
}

// UnwatchFolder closes the pipe of a folder's watchdog, as the end of this process does.
func UnwatchFolder(path string) error {
	watchdogs.Lock()
	defer watchdogs.Unlock()
	pipe := watchdogs.of[path]
	delete(watchdogs.of, path)
	return pipe.Close()
}

// SweepHolding claims a subnet, calls claimed with it, and removes the orphans of a site, as a start does.
func SweepHolding(ctx context.Context, s Site, claimed func(subnet string)) ([]Leftover, error) {
	own, err := claimSubnet()
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.release() }()
	claimed(own.label())
	return removeOrphanHosts(ctx, s, own)
}
