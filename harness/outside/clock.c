//go:build ignore

/*
 * The time of one program, asked of the harness: loaded by LD_PRELOAD, it answers each look at the time of day, and each sleep, by a
 * question over the Unix socket $DOUBLEGRANT_TIME. A question is 8 bytes: HELLO, LOOK, or for how many nanoseconds to sleep. Its
 * answer is 8 bytes: the time in nanoseconds since 1970. CLOCK_MONOTONIC stays true.
 *
 * Each question has a connection of its own, so that threads share nothing. It is linked against nothing, and compiled when it is needed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HELLO = -1, LOOK = 0 };

static const int64_t second = 1000000000;

static int ask(int64_t question, int64_t *now) {
	const char *path = getenv("DOUBLEGRANT_TIME");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int before = errno, answered = 0;
	int64_t answer = 0;
	int fd;

	if (!path)
		return 0;
	for (unsigned i = 0; path[i] && i < sizeof address.sun_path - 1; i++)
		address.sun_path[i] = path[i];
	fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		if (!syscall(SYS_connect, fd, &address, sizeof address) && syscall(SYS_write, fd, &question, sizeof question) == sizeof question) {
			long got;

			do
				got = syscall(SYS_read, fd, &answer, sizeof answer);
			while (got < 0 && errno == EINTR);
			answered = got == sizeof answer;
		}
		syscall(SYS_close, fd);
	}
	errno = before;
	if (answered && now)
		*now = answer;
	return answered;
}

__attribute__((constructor)) static void start(void) { ask(HELLO, NULL); }

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

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

/* sleep_for sleeps in the harness's time. */
static int sleep_for(int64_t length) { return length <= 0 || ask(length, NULL); }

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left) {
	int64_t length = t->tv_sec * second + t->tv_nsec;
	int before = errno, failed = 0;

	if (flags & TIMER_ABSTIME) {
		struct timespec now;

		if (clock == CLOCK_MONOTONIC && shown) {
			length -= shown;
		} else {
			clock_gettime(clock, &now);
			length -= now.tv_sec * second + now.tv_nsec;
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
	if (sleep_for(t->tv_sec * second + t->tv_nsec))
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
