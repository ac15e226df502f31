package cluster_test

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// turns is a program like a Redis node: its event loop gets two commands in each turn, while another thread reads the
// clock. It prints the times that the loop sees in its second turn, and the last time that the other thread has seen,
// in nanoseconds.
const turns = `
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static volatile long long others, looked;

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *look(void *unused) {
	for (;;) {
		others = now();
		looked++;
	}
	return unused;
}

int main(void) {
	struct epoll_event events[2];
	int loop = epoll_create1(0);
	pthread_t other;

	for (int i = 0; i < 2; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = eventfd(2, EFD_SEMAPHORE)};
		epoll_ctl(loop, EPOLL_CTL_ADD, event.data.fd, &event);
	}
	pthread_create(&other, 0, look, 0);
	for (int turn = 0; turn < 2; turn++) {
		int n = epoll_wait(loop, events, 2, -1);
		for (int e = 0; e < n; e++) {
			uint64_t command;
			if (read(events[e].data.fd, &command, sizeof command) < 0)
				return 1;
			for (int i = 0; i < 5; i++) {
				for (long long before = looked; looked < before + 2;)
					;
				long long seen = now();
				if (turn)
					printf("%lld ", seen);
			}
		}
	}
	printf("%lld\n", others);
	return 0;
}
`

// In each command, the loop's first readings show the old time and later ones the new time. Readings by another thread,
// or during the command before, are not counted.
func TestOnlyTheEventLoopSeesTimePassDuringACommand(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		testenv.LeftOut(t, "a process whose clock can be set", "a C compiler, gcc and libc6-dev")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	library, err := cluster.CompileClocks(t.Context())
	require.NoError(t, err)
	clock := make([]byte, 0, 24)
	for _, field := range []uint64{0, 1000, 2000} { // no offset; the time at which it stands; the time during a command
		clock = binary.NativeEndian.AppendUint64(clock, field)
	}
	for name, content := range map[string][]byte{"clock": clock, "library.so": library, "turns.c": []byte(turns)} {
		require.NoError(t, os.WriteFile(path(name), content, 0o600))
	}
	out, err := exec.Command(compiler, "-O1", "-pthread", "-o", path("turns"), path("turns.c")).CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.CommandContext(t.Context(), path("turns"))
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+path("library.so"), "DOUBLEGRANT_CLOCK="+path("clock"))
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "1000 1000 1000 2000 2000 1000 1000 1000 2000 2000 1000", strings.TrimSpace(string(out)))
}
