package cluster

import "context"

// WatchFolder starts the watchdog of a folder.
var WatchFolder = watchFolder

// SetShell sets the shell that watches folders.
func SetShell(path string) (undo func()) {
	was := shell
	shell = path
	return func() { shell = was }
}

// Abandon closes the pipe to the watchdog, as the end of this process does.
func (w RunningWatchdog) Abandon() { _ = w.pipe.Close() }

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
