//go:build ignore

/*
 * The time of one program, asked of the harness: loaded by LD_PRELOAD, it answers each look at the time of day, and each sleep, by a
 * question over the Unix socket $DOUBLEGRANT_TIME. A question is 8 bytes: HELLO, LOOK, or for how many nanoseconds to sleep. Its
 * answer is twice 8 bytes: ANSWERED or ASK_KERNEL, and for a look the time in nanoseconds since 1970. CLOCK_MONOTONIC stays true.
 *
 * A process whose hello was answered ends when a question is not: with the machine's time its schedule would mean nothing. Each
 * question has a connection of its own, so that threads share nothing. It is linked against nothing, and compiled when it is needed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HELLO = -1, LOOK = 0 };
enum { ASK_KERNEL, ANSWERED };

static const int64_t second = 1000000000;

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

int clock_gettime(clockid_t clock, struct timespec *t) {
	int64_t now;
	int failed;

	if ((clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && ask(LOOK, &now)) {
		t->tv_sec = now / second;
		t->tv_nsec = now % second;
		return 0;
	}
	failed = (int)syscall(SYS_clock_gettime, clock, t);
	if (!failed && clock == CLOCK_MONOTONIC)
		shown = t->tv_sec * second + t->tv_nsec;
	return failed;
}

/* sleep_for sleeps in the harness's time. It returns 0 where the kernel has to be asked. */
static int sleep_for(int64_t length) { return length <= 0 || ask(length, NULL); }

static int64_t length_of(const struct timespec *t) { return t->tv_sec * second + t->tv_nsec; }

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

int ppoll(struct pollfd *all, nfds_t n, const struct timespec *t, const sigset_t *mask) {
	struct timespec rest;

	if (n == 0 && t && sleep_for(length_of(t)))
		return 0;
	if (t)
		rest = *t;
	return (int)syscall(SYS_ppoll, all, n, t ? &rest : NULL, mask, 8);
}

int poll(struct pollfd *all, nfds_t n, int milliseconds) {
	struct timespec t = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};

	return ppoll(all, n, milliseconds < 0 ? NULL : &t, NULL);
}
