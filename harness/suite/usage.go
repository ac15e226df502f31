package suite

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

// measured is what this process holds now, at a time since the start of a suite. Where there is no /proc memory and files
// are 0: not measured.
func measured(at time.Duration) tally.Sample {
	s := tally.Sample{At: at, RSS: residentMemory(), Goroutines: runtime.NumGoroutine()}
	if d, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := d.Readdirnames(-1) // as many as can be read
		s.Files = max(0, len(names)-1) // the folder itself is open, too
		_ = d.Close()                  // it was read only
	}
	return s
}

// residentMemory is VmRSS of this process, in bytes.
func residentMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64) // 0 where the kernel speaks otherwise
			return kib << 10
		}
	}
	return 0
}
