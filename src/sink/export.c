#include "useprobe/export.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<microhttpd.h>)
#include <dlfcn.h>
#include <microhttpd.h>

#define CLIENTS 16
#define CLIENT_BYTES (16 * 1024)
#define CLIENT_SECONDS 10

struct api {
	struct MHD_Daemon *(*start_daemon)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *accept_context,
		MHD_AccessHandlerCallback handle, void *context, ...);
	void (*stop_daemon)(struct MHD_Daemon *daemon);
	const union MHD_DaemonInfo *(*get_daemon_info)(struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...);
	const char *(*lookup)(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key);
	struct MHD_Response *(*create_response)(size_t size, void *buffer, enum MHD_ResponseMemoryMode mode);
	enum MHD_Result (*add_header)(struct MHD_Response *response, const char *header, const char *content);
	enum MHD_Result (*queue_response)(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
	void (*destroy_response)(struct MHD_Response *response);
};

struct up_export {
	struct api api;
	struct up_http_guard guard;
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* all below */
	char *text[2]; /* owned; older format, OpenMetrics; NULL before the first tick */
	size_t len[2];
};

static bool find(void *library, const char *name, void *ret_function)
{
	void *symbol = dlsym(library, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static bool load(struct api *api)
{
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);

	return library && find(library, "MHD_start_daemon", &api->start_daemon) &&
	       find(library, "MHD_stop_daemon", &api->stop_daemon) &&
	       find(library, "MHD_get_daemon_info", &api->get_daemon_info) &&
	       find(library, "MHD_lookup_connection_value", &api->lookup) &&
	       find(library, "MHD_create_response_from_buffer", &api->create_response) &&
	       find(library, "MHD_add_response_header", &api->add_header) &&
	       find(library, "MHD_queue_response", &api->queue_response) &&
	       find(library, "MHD_destroy_response", &api->destroy_response);
}

static enum MHD_Result reply(
	const struct api *api, struct MHD_Connection *connection, unsigned status, const char *type, const char *body, size_t len)
{
	struct MHD_Response *response = api->create_response(len, (void *)body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result r;

	if (!response)
		return MHD_NO;
	api->add_header(response, "Content-Type", type);
	api->add_header(response, "Cache-Control", "no-store");
	api->add_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		api->add_header(response, "WWW-Authenticate", "Bearer");
	r = api->queue_response(connection, status, response);
	api->destroy_response(response);
	return r;
}

static enum MHD_Result refuse(const struct api *api, struct MHD_Connection *connection, unsigned status, const char *why)
{
	return reply(api, connection, status, "text/plain", why, strlen(why));
}

static enum MHD_Result metrics(struct up_export *export, struct MHD_Connection *connection)
{
	static const char *const types[] = { "text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8" };
	const char *accept = export->api.lookup(connection, MHD_HEADER_KIND, "Accept");
	const int which = accept && strstr(accept, "application/openmetrics-text");
	enum MHD_Result r;

	pthread_mutex_lock(&export->lock);
	r = export->text[which]
		    ? reply(&export->api, connection, MHD_HTTP_OK, types[which], export->text[which], export->len[which])
		    : refuse(&export->api, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the first tick is not over\n");
	pthread_mutex_unlock(&export->lock);
	return r;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **request)
{
	struct up_export *export = context;
	const struct api *api = &export->api;
	const char *host = api->lookup(connection, MHD_HEADER_KIND, "Host");

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	if (!up_http_host_allowed(&export->guard, host) ||
		!up_http_origin_allowed(&export->guard, api->lookup(connection, MHD_HEADER_KIND, "Origin"), host))
		return refuse(api, connection, MHD_HTTP_FORBIDDEN, "foreign Host or Origin\n");
	if (!up_http_token_matches(&export->guard, api->lookup(connection, MHD_HEADER_KIND, "Authorization")))
		return refuse(api, connection, MHD_HTTP_UNAUTHORIZED, "the bearer token is expected\n");
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(api, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	return strcmp(url, "/metrics") == 0 ? metrics(export, connection)
					    : refuse(api, connection, MHD_HTTP_NOT_FOUND, "there is /metrics\n");
}

/* Messages of the library repeat what a client sent. */
static void silent(void *context, const char *format, va_list args)
{
	(void)context;
	(void)format;
	(void)args;
}

static void start(struct up_export *export, const struct sockaddr *address, bool is_v4)
{
	const unsigned flags = MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG | (is_v4 ? 0 : MHD_USE_IPv6);
	sigset_t all, before;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = 0;
	export->daemon = export->api.start_daemon(flags, export->guard.port, NULL, NULL, handle, export,
		MHD_OPTION_EXTERNAL_LOGGER, silent, NULL, MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT, CLIENTS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, CLIENT_SECONDS,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int up_export_open(const struct up_http_guard *guard, struct up_export **ret, uint16_t *ret_port, char *error, size_t error_size)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(guard->port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(guard->port) };
	const bool is_v4 = inet_pton(AF_INET, guard->address, &v4.sin_addr) == 1;
	struct up_export *export = calloc(1, sizeof(*export));
	const union MHD_DaemonInfo *info;

	if (!export)
		return -ENOMEM;
	export->guard = *guard;
	pthread_mutex_init(&export->lock, NULL);
	if (!load(&export->api)) {
		snprintf(error, error_size, "libmicrohttpd is not installed (Debian: libmicrohttpd12)");
		up_export_close(export);
		return -ENOSYS;
	}
	if (!is_v4 && inet_pton(AF_INET6, guard->address, &v6.sin6_addr) != 1) {
		snprintf(error, error_size, "%s is no address", guard->address);
		up_export_close(export);
		return -EINVAL;
	}
	start(export, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6, is_v4);
	info = export->daemon ? export->api.get_daemon_info(export->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		const int r = errno ? -errno : -EIO;

		snprintf(error, error_size, "cannot listen on %s:%u: %s", guard->address, guard->port, strerror(-r));
		up_export_close(export);
		return r;
	}
	*ret_port = info->port;
	*ret = export;
	return 0;
}

int up_export_tick(void *self, const struct up_table *table)
{
	struct up_export *export = self;

	for (int i = 0; i < 2; i++) {
		size_t len = 0;
		char *text = up_export_text(table, i == 1, &len), *older;

		/* Without memory the answer stays that of the tick before; its timestamp says so. */
		if (!text)
			return 0;
		pthread_mutex_lock(&export->lock);
		older = export->text[i];
		export->text[i] = text;
		export->len[i] = len;
		pthread_mutex_unlock(&export->lock);
		free(older);
	}
	return 0;
}

int up_export_close(void *self)
{
	struct up_export *export = self;

	if (export->daemon)
		export->api.stop_daemon(export->daemon);
	pthread_mutex_destroy(&export->lock);
	free(export->text[0]);
	free(export->text[1]);
	free(export);
	return 0;
}

#else

int up_export_open(const struct up_http_guard *guard, struct up_export **ret, uint16_t *ret_port, char *error, size_t error_size)
{
	(void)guard;
	(void)ret;
	(void)ret_port;
	snprintf(error, error_size, "built without libmicrohttpd (Debian: libmicrohttpd-dev)");
	return -ENOSYS;
}

int up_export_tick(void *self, const struct up_table *table)
{
	(void)self;
	(void)table;
	return 0;
}

int up_export_close(void *self)
{
	(void)self;
	return 0;
}

#endif
