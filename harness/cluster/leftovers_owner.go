package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// hostOwned reports whether any sign of an owner is left: the lock of the folder, the process, or the lock of the
// subnet. An owner in another container shares this machine's network with its nodes, but perhaps neither files nor
// process ids with us. What own holds, no other owner does.
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

// subnetOwned reports whether the subnet's lock is held; it does as well if the label does not say which subnet.
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

// processMark is a process's id and the time of its start in the kernel's ticks, by which the next one of the same id
// differs; empty if there is none.
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

func processLives(mark string) bool {
	var pid int
	_, _ = fmt.Sscanf(mark, "%d@", &pid)
	return mark != "" && processMark(pid) == mark
}
