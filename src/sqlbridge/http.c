/* The HTTP side: GET and HEAD of three paths, through libmicrohttpd. Bounded in clients, memory and time. */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"
#include "useprobe/clock.h"

#define CLIENTS 32
#define CLIENT_BYTES (32 * 1024)
#define CLIENT_SECONDS 10

struct bridge_http {
	struct bridge *bridge;
	struct MHD_Daemon *daemon;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type, char *body, bool owned)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(body), body, owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc;

	if (!response) {
		if (owned)
			free(body);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	rc = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, char *why)
{
	return reply(connection, status, "text/plain", why, false);
}

static enum MHD_Result answer(struct bridge *bridge, struct MHD_Connection *connection, const char *path)
{
	const char *type = "application/json", *reason;
	unsigned status = MHD_HTTP_OK;
	uint64_t now;
	char *body = NULL, said[128];

	pthread_mutex_lock(&bridge->lock);
	now = up_clock_real.mono_ns(NULL);
	if (strcmp(path, "/sample") == 0) {
		body = bridge_sample_json(&bridge->view, now);
	} else if (strcmp(path, "/metrics") == 0) {
		type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
		body = bridge_metrics_text(&bridge->view, now);
	} else if (strcmp(path, "/health") == 0) {
		body = bridge_health_json(&bridge->view, now);
		if (bridge_view_state(&bridge->view, now, said, sizeof(said), &reason) != BRIDGE_OK)
			status = MHD_HTTP_SERVICE_UNAVAILABLE;
	} else {
		status = MHD_HTTP_NOT_FOUND;
	}
	pthread_mutex_unlock(&bridge->lock);
	if (status == MHD_HTTP_NOT_FOUND)
		return refuse(connection, status, "there are /sample, /metrics and /health\n");
	return body ? reply(connection, status, type, body, true) : MHD_NO;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **request)
{
	const struct bridge_http *http = context;
	const struct bridge_options *options = &http->bridge->options;
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (!up_http_host_allowed(&options->guard, host) || !up_http_origin_allowed(&options->guard, origin, host))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "foreign Host or Origin; --allow-host names further ones\n");
	if (!up_http_token_matches(&options->guard, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization")))
		return refuse(connection, MHD_HTTP_UNAUTHORIZED, "the bearer token is expected\n");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	return answer(http->bridge, connection, url);
}

/* Messages of the library repeat what a client sent. */
static void silent(void *context, const char *format, va_list args)
{
	(void)context;
	(void)format;
	(void)args;
}

int bridge_http_start(struct bridge *bridge, struct bridge_http **ret, uint16_t *ret_port, char *message, size_t size)
{
	const struct bridge_options *options = &bridge->options;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(options->guard.port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(options->guard.port) };
	bool is_v4 = inet_pton(AF_INET, options->guard.address, &v4.sin_addr) == 1;
	unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG | (is_v4 ? 0 : MHD_USE_IPv6);
	struct bridge_http *http = calloc(1, sizeof(*http));
	const union MHD_DaemonInfo *info;
	sigset_t all, before;

	if (!http || (!is_v4 && inet_pton(AF_INET6, options->guard.address, &v6.sin6_addr) != 1)) {
		free(http);
		return -EINVAL;
	}
	http->bridge = bridge;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = 0;
	http->daemon = MHD_start_daemon(flags, options->guard.port, NULL, NULL, handle, http, MHD_OPTION_EXTERNAL_LOGGER, silent,
		NULL, MHD_OPTION_SOCK_ADDR, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6, MHD_OPTION_CONNECTION_LIMIT,
		CLIENTS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, CLIENT_SECONDS,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	info = http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		int error = errno ? errno : EIO;

		snprintf(message, size, "cannot listen on %s:%u: %s", options->guard.address, options->guard.port,
			strerror(error));
		bridge_http_stop(http);
		return -error;
	}
	*ret_port = info->port;
	*ret = http;
	return 0;
}

void bridge_http_stop(struct bridge_http *http)
{
	if (http && http->daemon)
		MHD_stop_daemon(http->daemon);
	free(http);
}
