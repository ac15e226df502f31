package cluster

import (
	"fmt"
	"os"
	"runtime"
)

// loadOfMachine returns the machine's load in the last minute, such as "12.3 on 2 cores", as in harness.EventLoad. It
// is empty if the kernel does not tell.
func loadOfMachine() string {
	text, err := os.ReadFile("/proc/loadavg")
	var load float64
	if err != nil {
		return ""
	}
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		return ""
	}
	return fmt.Sprintf("%.1f on %d cores", load, runtime.NumCPU())
}
