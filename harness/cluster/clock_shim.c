//go:build ignore

/*
 * The clock of one process, set ahead or back, or fixed: loaded by LD_PRELOAD, it adds the nanoseconds in the first 8
 * bytes of the file $DOUBLEGRANT_CLOCK to CLOCK_REALTIME. If the next 8 bytes are not zero, they are the time itself, in
 * nanoseconds since 1970, and it stands still. If 8 more are not zero, they are the time that is shown from the fourth look on
 * after the process has got something to do (epoll_wait), as if time passed while it does that: Redis 7.0 looks two or three
 * times before a command, and then at each TIME. Only the thread that waits for something to do is meant: a thread of jemalloc
 * looks at the time now and then, also in the middle of a command. The file is mapped: a change is seen at once.
 * CLOCK_MONOTONIC stays true.
 *
 * It is linked against nothing, so that it also loads in a container with another C library than the machine's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma weak dlsym /* absent in a program without it: then the kernel is asked, more slowly */

typedef int clock_function(clockid_t, struct timespec *);

static int ask_kernel(clockid_t clock, struct timespec *t) { return (int)syscall(SYS_clock_gettime, clock, t); }

enum { OFFSET, FIXED, THEN, FIELDS };
enum { BEFORE = 3 }; /* looks before a command: 2 to 4 with Redis 7.0.15, by EVAL, EVALSHA and EXEC */

static const int64_t unset[FIELDS];
static const volatile int64_t *file = unset;
static clock_function *true_clock = ask_kernel;
static int busy, looks; /* since the process has got something to do */
static volatile long loop; /* the thread of its event loop */

__attribute__((constructor)) static void start(void) {
	const char *path = getenv("DOUBLEGRANT_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	clock_function *libc = dlsym ? (clock_function *)dlsym(RTLD_NEXT, "clock_gettime") : NULL;

	if (libc)
		true_clock = libc;
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof unset, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		file = page;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	const int64_t second = 1000000000;
	int failed = true_clock(clock, t);

	if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
		int64_t fixed = file[FIXED], then = file[THEN];

		if (fixed && then && busy && syscall(SYS_gettid) == loop && looks++ >= BEFORE)
			fixed = then;
		int64_t now = fixed ? fixed : t->tv_sec * second + t->tv_nsec + file[OFFSET];
		t->tv_sec = now / second;
		t->tv_nsec = now % second;
	}
	return failed;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
	static int (*wait)(int, struct epoll_event *, int, int);

	if (!wait && dlsym)
		wait = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
	int n = wait ? wait(fd, events, most, timeout) : (int)syscall(SYS_epoll_pwait, fd, events, most, timeout, NULL, 0);
	busy = n > 0;
	looks = 0;
	loop = syscall(SYS_gettid);
	return n;
}
