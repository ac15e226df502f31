//go:build ignore

/*
 * The time of one program, asked of the harness: loaded by LD_PRELOAD, it answers each look at the time of day, and each sleep, by a
 * question over the Unix socket $DOUBLEGRANT_TIME. A question is 8 bytes: HELLO, TIMER, GLANCE, LOOK, or for how many nanoseconds to
 * sleep. Its answer is twice 8 bytes: ANSWERED or ASK_KERNEL, and for a look the time in nanoseconds since 1970. A GLANCE is a look that
 * is no operation's. CLOCK_MONOTONIC stays true, but for threads that sleep by ppoll.
 *
 * A process whose hello was answered ends when a question is not: with the machine's time its schedule would mean nothing. Each
 * question has a connection of its own, so that threads share nothing. It is linked against nothing, and compiled when it is needed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { GLANCE = -3, TIMER = -2, HELLO = -1, LOOK = 0 };
enum { ASK_KERNEL, ANSWERED };

static const int64_t second = 1000000000;

static int64_t length_of(const struct timespec *t) { return t->tv_sec * second + t->tv_nsec; }

static struct sockaddr_un harness = {.sun_family = AF_UNIX};
static int attached; /* the harness has answered the hello */

/* talk asks a question on a connection of its own. It returns 0 if there was no answer. */
static int talk(int64_t question, int64_t answer[2]) {
	int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long got = 0;

	if (fd < 0)
		return 0;
	if (!syscall(SYS_connect, fd, &harness, sizeof harness) && syscall(SYS_write, fd, &question, sizeof question) == sizeof question) {
		do
			got = syscall(SYS_read, fd, answer, 2 * sizeof *answer);
		while (got < 0 && errno == EINTR);
	}
	syscall(SYS_close, fd);
	return got == 2 * sizeof *answer;
}

/* ask returns 0 where the kernel has to be asked. */
static int ask(int64_t question, int64_t *now) {
	static const char lost[] = "Error: the harness does not answer what the time is\n";
	int64_t answer[2] = {0, 0};
	int before = errno;

	if (!attached)
		return 0;
	if (!talk(question, answer)) {
		syscall(SYS_write, 2, lost, sizeof lost - 1);
		syscall(SYS_exit_group, 70);
	}
	errno = before;
	if (now)
		*now = answer[1];
	return answer[0] == ANSWERED;
}

__attribute__((constructor)) static void start(void) {
	const char *path = getenv("DOUBLEGRANT_TIME");
	int64_t answer[2];
	int before = errno;

	for (unsigned i = 0; path && path[i] && i < sizeof harness.sun_path - 1; i++)
		harness.sun_path[i] = path[i];
	attached = path && talk(HELLO, answer);
	errno = before;
}

/*
 * What the monotonic clock last showed to this thread. A sleep until some instant of that clock is as long as that instant is after
 * this one: so its length is what the program had in mind, to the nanosecond, and the same each time.
 */
static __thread __attribute__((tls_model("initial-exec"))) int64_t shown;

/*
 * What the monotonic clock shows this thread at least, if it has slept by ppoll: Ruby looks whether its sleep is over, and sleeps on
 * until it is. So for such a thread that clock is ahead of the others', and stands until they come to it.
 */
static __thread __attribute__((tls_model("initial-exec"))) int64_t over;

/*
 * This thread connects: it has resolved a name, and the connection is neither made nor refused. What it looks at the clock for meanwhile,
 * or sets a timer for, is its time-out (PHP's streams, node-redis), which no algorithm knows of.
 */
static __thread __attribute__((tls_model("initial-exec"))) int connects;

extern void *dlsym(void *handle, const char *name) __attribute__((weak)); /* the C library's, as the program has it */

int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints, struct addrinfo **restrict all) {
	static int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	int failed;

	if (!resolve && dlsym)
		resolve = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
	if (!resolve)
		return EAI_FAIL;
	failed = resolve(node, service, hints, all);
	connects = !failed;
	return failed;
}

int connect(int fd, const struct sockaddr *to, socklen_t size) {
	long failed = syscall(SYS_connect, fd, to, size);

	connects = failed && errno == EINPROGRESS; /* then it waits for the connection, by one of the calls below */
	return (int)failed;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int64_t now;
	int failed;

	if ((clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && ask(connects ? GLANCE : LOOK, &now)) {
		t->tv_sec = now / second;
		t->tv_nsec = now % second;
		return 0;
	}
	failed = (int)syscall(SYS_clock_gettime, clock, t);
	if (failed || clock != CLOCK_MONOTONIC)
		return failed;
	shown = length_of(t);
	if (shown < over) {
		shown = over;
		t->tv_sec = over / second;
		t->tv_nsec = over % second;
	}
	return 0;
}

/* sleep_for sleeps in the harness's time. It returns 0 where the kernel has to be asked. */
static int sleep_for(int64_t length) { return length <= 0 || ask(length, NULL); }

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
	int64_t length = length_of(t);
	int before = errno, failed = 0;

	if (flags & TIMER_ABSTIME) {
		struct timespec now;

		if (clock == CLOCK_MONOTONIC && shown) {
			length -= shown;
		} else {
			clock_gettime(clock, &now);
			length -= length_of(&now);
		}
	}
	if (sleep_for(length))
		return 0;
	if (syscall(SYS_clock_nanosleep, clock, flags, t, left))
		failed = errno;
	errno = before;
	return failed;
}

int nanosleep(const struct timespec *t, struct timespec *left) {
	if (sleep_for(length_of(t)))
		return 0;
	return (int)syscall(SYS_nanosleep, t, left);
}

int usleep(useconds_t length) {
	struct timespec t = {.tv_sec = length / 1000000, .tv_nsec = length % 1000000 * 1000};

	return nanosleep(&t, NULL);
}

unsigned sleep(unsigned length) {
	struct timespec t = {.tv_sec = length}, left = {0};

	return nanosleep(&t, &left) ? (unsigned)left.tv_sec : 0;
}

/* The calls below sleep where they wait for nothing else. */

int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, const struct timespec *restrict t, const sigset_t *restrict mask) {
	struct timespec rest;
	struct {
		const sigset_t *mask;
		size_t size;
	} signals = {mask, 8};

	if (n == 0 && t && sleep_for(length_of(t)))
		return 0;
	connects = 0;
	if (t)
		rest = *t; /* the kernel writes what is left into it */
	return (int)syscall(SYS_pselect6, n, in, out, other, t ? &rest : NULL, &signals);
}

int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, struct timeval *restrict t) {
	struct timespec rest;

	if (t) {
		rest.tv_sec = t->tv_sec;
		rest.tv_nsec = t->tv_usec * 1000;
	}
	return pselect(n, in, out, other, t ? &rest : NULL, NULL);
}

/* is_eventfd reports whether only threads of the program itself can make a file readable. */
static int is_eventfd(int fd) {
	static const char want[] = "anon_inode:[eventfd]";
	char path[32] = "/proc/self/fd/", digits[12], name[sizeof want];
	unsigned n = 0, end = 14;

	if (fd < 0)
		return 0;
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		path[end++] = digits[--n];
	path[end] = 0;
	return syscall(SYS_readlinkat, AT_FDCWD, path, name, sizeof name) == sizeof want - 1 && !memcmp(name, want, sizeof want - 1);
}

static int poll_now(struct pollfd *all, nfds_t n, const sigset_t *mask) {
	struct timespec none = {0, 0};

	return (int)syscall(SYS_ppoll, all, n, &none, mask, 8);
}

/* Ruby sleeps so: it waits for an eventfd, by which its other threads would wake it. What they have done meanwhile is seen after the sleep. */
int ppoll(struct pollfd *all, nfds_t n, const struct timespec *t, const sigset_t *mask) {
	struct timespec rest;
	int ready, before = errno;

	connects = 0;
	if (n == 0 && t && sleep_for(length_of(t)))
		return 0;
	if (n == 1 && t && attached) {
		ready = poll_now(all, n, mask);
		if (ready)
			return ready;
		if (is_eventfd(all->fd) && sleep_for(length_of(t))) {
			over = shown + length_of(t) + 1; /* the first instant after the sleep */
			return poll_now(all, n, mask);
		}
	}
	errno = before;
	if (t)
		rest = *t;
	return (int)syscall(SYS_ppoll, all, n, t ? &rest : NULL, mask, 8);
}

int poll(struct pollfd *all, nfds_t n, int milliseconds) {
	struct timespec t = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};

	return ppoll(all, n, milliseconds < 0 ? NULL : &t, NULL);
}

/*
 * Loops of events wait so for whatever comes first, an event or a timer. Which one comes first in the harness's time, nobody here can
 * tell: so it is told of the timer, and refuses the program if that runs during an operation. Only the first thread counts: others are
 * an interpreter's own.
 */
int epoll_pwait(int fd, struct epoll_event *events, int n, int milliseconds, const sigset_t *mask) {
	int waits_for_event = connects;

	connects = 0;
	if (milliseconds > 0 && attached && !waits_for_event && syscall(SYS_gettid) == syscall(SYS_getpid)) {
		int ready = (int)syscall(SYS_epoll_pwait, fd, events, n, 0, mask, 8);

		if (ready)
			return ready;
		ask(TIMER, NULL);
	}
	return (int)syscall(SYS_epoll_pwait, fd, events, n, milliseconds, mask, 8);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int milliseconds) { return epoll_pwait(fd, events, n, milliseconds, NULL); }
