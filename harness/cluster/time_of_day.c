//go:build ignore

/*
 * What tells the time of day beside clock_gettime, which the library that this is compiled with defines: see PreloadLibrary.
 */
#define _GNU_SOURCE
#include <sys/time.h>
#include <time.h>

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

int timespec_get(struct timespec *t, int base) {
	return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, t) ? base : 0;
}

time_t time(time_t *t) {
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME_COARSE, &now))
		return -1;
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
