//go:build ignore

/*
 * The clock of one process, set ahead or back, or fixed. LD_PRELOAD loads it. It adds the nanoseconds in the first 8
 * bytes of the file $DOUBLEGRANT_CLOCK to CLOCK_REALTIME. If the next 8 bytes are not zero, they are the time itself, in
 * nanoseconds since 1970, and the clock stands still. If 8 more are not zero, they are a second time, which the clock
 * shows from the fourth look on after the event loop has read a command, as if time passed during the command. Redis
 * 7.0 looks two or three times before it executes a script or transaction, and then at each TIME. Looks are counted
 * from the read and not from epoll_wait, since one epoll_wait may return commands of several connections. Only the
 * thread that calls epoll_wait counts: a thread of jemalloc looks at the time now and then, also during a command.
 * The file is mapped, so a change is seen at once. CLOCK_MONOTONIC stays true.
 *
 * The library is linked against nothing, so that it also loads in a container whose C library is not the machine's.
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
static int busy, looks; /* since the event loop has read a command */
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
	busy = 0;
	loop = syscall(SYS_gettid);
	return wait ? wait(fd, events, most, timeout) : (int)syscall(SYS_epoll_pwait, fd, events, most, timeout, NULL, 0);
}

ssize_t read(int fd, void *bytes, size_t most) {
	static ssize_t (*true_read)(int, void *, size_t);

	if (!true_read && dlsym)
		true_read = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	ssize_t n = true_read ? true_read(fd, bytes, most) : syscall(SYS_read, fd, bytes, most);
	if (n > 0 && file[THEN] && syscall(SYS_gettid) == loop) {
		busy = 1;
		looks = 0;
	}
	return n;
}
