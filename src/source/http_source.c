#include "useprobe/http_source.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "useprobe/clock.h"
#include "useprobe/http.h"
#include "useprobe/thread.h"

#define STACK_BYTES ((size_t)512 << 10) /* libcurl resolves names on it */

struct up_http_source {
	struct up_http_source_config config; /* url and bearer owned */
	pthread_t thread;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t wake; /* monotonic clock */
	bool stop;
	void *parsed; /* owned; NULL = nothing new */
	struct up_http_source_status status;
};

static uint64_t now_ns(void)
{
	return up_clock_real.mono_ns(up_clock_real.self);
}

int up_http_url_check(const char *url, char *error, size_t error_size)
{
	const size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
	const char *host = url + scheme;
	const size_t authority = strcspn(host, "/?#");

	if (scheme == 0 || authority == 0) {
		snprintf(error, error_size, "an address that begins with http:// or https:// and names a host");
		return -EINVAL;
	}
	if (memchr(host, '@', authority)) {
		snprintf(error, error_size,
			"an address without user and password: everybody can read them in `ps`; use a token file");
		return -EINVAL;
	}
	for (const char *p = url; *p; p++) {
		if ((unsigned char)*p <= ' ' || *p == 0x7f) {
			snprintf(error, error_size, "an address without spaces or control characters");
			return -EINVAL;
		}
	}
	return 0;
}

int up_http_token_read(const char *path, char *ret, size_t size, char *error, size_t error_size)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	int r = file && fstat(fileno(file), &st) == 0 ? 0 : -errno;

	if (r == 0 && (st.st_mode & 077)) {
		snprintf(error, error_size, "others than its owner may read it; run: chmod 600 FILE");
		r = -EPERM;
	} else if (r == 0 && (!fgets(ret, (int)size, file) || !*ret || (ret[strcspn(ret, "\r\n")] = '\0', !*ret))) {
		snprintf(error, error_size, "its first line holds no token");
		r = -EINVAL;
	} else if (r < 0) {
		snprintf(error, error_size, "%s", strerror(-r));
	}
	if (file)
		fclose(file);
	return r;
}

/* The line of a status that is no success. */
static int judge_status(long status, char *reason, size_t size)
{
	if (status == 200)
		return 0;
	if (status == 401 || status == 403) {
		snprintf(reason, size, "the server refuses us (HTTP %ld): %s", status,
			status == 401 ? "a token is missing or wrong" : "it does not serve this address to us");
		return -EACCES;
	}
	snprintf(reason, size, "the server answers HTTP %ld", status);
	return -EIO;
}

static void ask(struct up_http_source *source)
{
	const struct up_http_request request = {
		.url = source->config.url,
		.bearer = source->config.bearer,
		.timeout_ms = source->config.timeout_ms,
		.max_bytes = source->config.max_bytes,
	};
	struct up_http_reply reply = { 0 };
	char reason[256] = "";
	void *parsed = NULL, *older = NULL;
	int r = up_http_get(&request, &reply, reason, sizeof(reason));

	if (r == 0)
		r = judge_status(reply.status, reason, sizeof(reason));
	if (r == 0) {
		parsed = source->config.parse(reply.body, reply.len, reason, sizeof(reason));
		r = parsed ? 0 : -EBADMSG;
	}
	up_http_reply_done(&reply);
	pthread_mutex_lock(&source->lock);
	source->status.error = r;
	snprintf(source->status.reason, sizeof(source->status.reason), "%s", reason);
	if (parsed) {
		older = source->parsed;
		source->parsed = parsed;
		source->status.answered_ns = now_ns();
	}
	pthread_mutex_unlock(&source->lock);
	if (older)
		source->config.free(older);
}

static void *source_main(void *arg)
{
	struct up_http_source *source = arg;
	uint64_t due_ns = now_ns();

	pthread_mutex_lock(&source->lock);
	while (!source->stop) {
		const uint64_t at_ns = now_ns();

		if (at_ns < due_ns) {
			const struct timespec until = { .tv_sec = (time_t)(due_ns / UP_NS_PER_S),
				.tv_nsec = (long)(due_ns % UP_NS_PER_S) };

			pthread_cond_timedwait(&source->wake, &source->lock, &until);
			continue;
		}
		/* Requests that a slow server made us miss are not made up for. */
		due_ns += ((at_ns - due_ns) / source->config.interval_ns + 1) * source->config.interval_ns;
		pthread_mutex_unlock(&source->lock);
		ask(source);
		pthread_mutex_lock(&source->lock);
	}
	pthread_mutex_unlock(&source->lock);
	return NULL;
}

static void free_source(struct up_http_source *source)
{
	if (source->parsed)
		source->config.free(source->parsed);
	free((char *)source->config.url);
	if (source->config.bearer)
		explicit_bzero((char *)source->config.bearer, strlen(source->config.bearer));
	free((char *)source->config.bearer);
	free(source);
}

int up_http_source_new(const struct up_http_source_config *config, struct up_http_source **ret)
{
	struct up_http_source *source = calloc(1, sizeof(*source));
	pthread_condattr_t monotonic;
	int r;

	if (!source)
		return -ENOMEM;
	source->config = *config;
	source->config.url = strdup(config->url);
	source->config.bearer = config->bearer ? strdup(config->bearer) : NULL;
	source->status.error = -EAGAIN;
	snprintf(source->status.reason, sizeof(source->status.reason), "no answer yet");
	if (!source->config.url || (config->bearer && !source->config.bearer)) {
		free_source(source);
		return -ENOMEM;
	}
	pthread_mutex_init(&source->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&source->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = up_thread_start(&source->thread, config->thread_name, STACK_BYTES, source_main, source);
	if (r < 0) {
		free_source(source);
		return r;
	}
	*ret = source;
	return 0;
}

void up_http_source_free(struct up_http_source *source)
{
	if (!source)
		return;
	pthread_mutex_lock(&source->lock);
	source->stop = true;
	pthread_cond_broadcast(&source->wake);
	pthread_mutex_unlock(&source->lock);
	pthread_join(source->thread, NULL);
	pthread_cond_destroy(&source->wake);
	pthread_mutex_destroy(&source->lock);
	free_source(source);
}

void *up_http_source_take(struct up_http_source *source, struct up_http_source_status *ret)
{
	void *parsed;

	pthread_mutex_lock(&source->lock);
	parsed = source->parsed;
	source->parsed = NULL;
	*ret = source->status;
	pthread_mutex_unlock(&source->lock);
	return parsed;
}
