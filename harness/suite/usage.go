package suite

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/tally"
)

// measureProcess samples this process, at the given time since the start of the suite. Without /proc, memory and files
// are 0, which means not measured.
func measureProcess(at time.Duration) tally.Sample {
	s := tally.Sample{At: at, RSS: residentMemory(), Goroutines: runtime.NumGoroutine()}
	if d, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := d.Readdirnames(-1) // the names that could be read
		s.Files = max(0, len(names)-1) // without the descriptor of the folder itself
		_ = d.Close()                  // it was only read
	}
	return s
}

// residentMemory returns VmRSS of this process, in bytes; 0 if it is not known.
func residentMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64) // 0 if the line has another form
			return kib << 10
		}
	}
	return 0
}
