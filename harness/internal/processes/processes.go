// Package processes lists processes. It reads /proc, and finds none where there is no /proc.
package processes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// All returns the ids of all visible processes of the machine.
func All() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // of a good pattern
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// InGroup returns the ids of the processes in a process group.
func InGroup(group int) []int {
	return slices.DeleteFunc(All(), func(pid int) bool {
		of, err := syscall.Getpgid(pid) // it may have ended
		return err != nil || of != group
	})
}

// Children returns the names of the running processes that this one has started.
func Children() (names []string) {
	lists, _ := filepath.Glob("/proc/self/task/*/children") // of a good pattern
	for _, l := range lists {
		b, _ := os.ReadFile(l) // the thread may have ended
		for _, pid := range strings.Fields(string(b)) {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			names = append(names, strings.TrimSpace(string(name)))
		}
	}
	return names
}
