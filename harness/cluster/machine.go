package cluster

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// machine holds the limits that apply to this process and its children. 0 means unknown, and is not checked.
type machine struct {
	SoftFiles, HardFiles int64 // number of files that a process may open
	MostFiles            int64 // highest value to which root may raise HardFiles
	Ports                int64 // number of local ports of one address, for outgoing connections
	Backlog              int64 // number of connections that may wait to be accepted, for each listener
	Memory               int64 // bytes that this process can take without swapping and without being killed for it
}

// thisMachine reads the current limits.
func thisMachine() machine {
	m := readMachine(os.DirFS("/"))
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil {
		m.SoftFiles, m.HardFiles = atMost(uint64(l.Cur)), atMost(uint64(l.Max))
	}
	return m
}

// atMost bounds n so that sums do not overflow: the kernel gives a huge number for "no limit".
func atMost(n uint64) int64 { return int64(min(n, 1<<30)) }

// RaiseFileLimit raises the soft limit of open files to the hard one, for this process and its children. Go's runtime
// has already raised the limit of this process, to one less than the hard one, but children would get the old limit. A
// redis-server with a low soft limit raises it in steps of 16, and lowers its hard limit to the result: from a soft
// limit of 1024 and a hard limit of 20000 it got to 19992.
func RaiseFileLimit() error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = l.Max
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l)
}

// readMachine reads the limits that the kernel shows in files.
func readMachine(root fs.FS) machine {
	m := machine{
		MostFiles: firstNumber(root, "proc/sys/fs/nr_open"),
		Backlog:   firstNumber(root, "proc/sys/net/core/somaxconn"),
		Memory:    namedNumber(root, "proc/meminfo", "MemAvailable:") << 10,
	}
	if f := fileWords(root, "proc/sys/net/ipv4/ip_local_port_range"); len(f) == 2 {
		if low, high := parseNumber(f[0]), parseNumber(f[1]); low > 0 && high >= low {
			m.Ports = high - low + 1
		}
	}
	if left, limited := memoryLeft(root); limited && m.Memory > 0 {
		m.Memory = max(1, min(m.Memory, left)) // 0 would be: not known
	}
	return m
}

// memoryLeft returns the bytes of memory that our control groups still allow. The second result is false if none of
// them has a limit.
//
// A control group of version 2 is a line "0::/path" in /proc/self/cgroup, one of version 1 a line like
// "4:memory:/path". In a container the path may be valid on the host only. In that case memoryLeft finds only the root
// group.
func memoryLeft(root fs.FS) (left int64, limited bool) {
	left = math.MaxInt64
	b, _ := fs.ReadFile(root, "proc/self/cgroup") // none: no control groups
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		folder, limit, used, cache := "", "", "", ""
		switch {
		case f[0] == "0" && f[1] == "":
			folder, limit, used, cache = "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
		case f[1] == "memory":
			folder, limit = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
			used, cache = "memory.usage_in_bytes", "total_inactive_file"
		default:
			continue
		}
		for p := path.Clean("/" + f[2]); ; p = path.Dir(p) {
			in := path.Join(folder, p)
			// "max", and version 1's number for it, mean no limit. Cache that is not read is freed when needed.
			if most := firstNumber(root, path.Join(in, limit)); most > 0 && most < 1<<60 {
				left = min(left, most-firstNumber(root, path.Join(in, used))+
					namedNumber(root, path.Join(in, "memory.stat"), cache))
				limited = true
			}
			if p == "/" {
				break
			}
		}
	}
	return left, limited
}

// fileWords returns the words of a small file, none if it cannot be read.
func fileWords(root fs.FS, name string) []string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}

// firstNumber returns the number with which a file begins, or 0.
func firstNumber(root fs.FS, name string) int64 {
	if f := fileWords(root, name); len(f) > 0 {
		return parseNumber(f[0])
	}
	return 0
}

// namedNumber returns the number that follows the word in the file called name, or 0.
func namedNumber(root fs.FS, name, word string) int64 {
	f := fileWords(root, name)
	for i := 1; i < len(f); i++ {
		if f[i-1] == word {
			return parseNumber(f[i])
		}
	}
	return 0
}

// parseNumber reads a whole number that is not negative. It is 0 for anything else.
func parseNumber(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return 0
	}
	return max(0, n)
}
