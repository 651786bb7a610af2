#include "useprobe/thread.h"

#include <signal.h>

int up_thread_start(pthread_t *ret, const char *name, size_t stack_bytes, void *(*main)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return -r;
	r = pthread_attr_setstacksize(&attr, stack_bytes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0)
		r = pthread_create(ret, &attr, main, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (r == 0)
		(void)pthread_setname_np(*ret, name);
	return -r;
}
