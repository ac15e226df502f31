package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// hostOwned reports whether the host has an owner: the folder is locked, the process lives, or the subnet is locked.
// The files and processes of an owner in another container may not be visible here, but its lock of the subnet is. The
// parameter own is the subnet that the caller itself has locked, so that lock does not count.
func hostOwned(c Leftover, own subnet) bool {
	owned, err := folderOwned(c.Run)
	if owned && !errors.Is(err, fs.ErrNotExist) || processLives(c.Process) {
		return true
	}
	if own.lock != nil && c.Subnet == own.label() {
		return false
	}
	return subnetOwned(c.Subnet)
}

// subnetOwned reports whether some process holds the lock of the subnet that the label names. It also returns true if
// the label names no subnet of ours.
func subnetOwned(label string) bool {
	var x int
	_, _ = fmt.Sscanf(label, "127.%d.", &x)
	s := subnet{x: x}
	if x < firstSubnet || x > lastSubnet || label != s.label() {
		return true
	}
	return addressFree(hostPort(s.ip(0, 1), lockPort)) != nil
}

func (s subnet) label() string { return s.ip(0, 0) + "/16" }

// processMark returns a process's id and the time of its start in the kernel's ticks. The time distinguishes the
// process from a later one with the same id. The result is empty if there is no such process.
func processMark(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name in parentheses may hold spaces
	const startTime = 19                       // the 22nd field
	fields := strings.Fields(rest)
	if len(fields) <= startTime {
		return ""
	}
	return fmt.Sprintf("%d@%s", pid, fields[startTime])
}

// processLives reports whether the process of a processMark still runs.
func processLives(mark string) bool {
	var pid int
	_, _ = fmt.Sscanf(mark, "%d@", &pid)
	return mark != "" && processMark(pid) == mark
}
