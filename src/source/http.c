#include "useprobe/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The functions of libcurl in use, found once. */
struct curl_api {
	bool loaded;
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *handle);
	CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
	void (*easy_cleanup)(CURL *handle);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

static struct curl_api api;
static pthread_once_t api_once = PTHREAD_ONCE_INIT;

/* dlsym returns an object pointer; POSIX lets it hold a function, ISO C wants the detour. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *symbol = dlsym(library, name);

	memcpy(ret_function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void load(void)
{
	void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	api.loaded =
		find(library, "curl_global_init", &api.global_init) && find(library, "curl_easy_init", &api.easy_init) &&
		find(library, "curl_easy_setopt", &api.easy_setopt) && find(library, "curl_easy_perform", &api.easy_perform) &&
		find(library, "curl_easy_getinfo", &api.easy_getinfo) && find(library, "curl_easy_cleanup", &api.easy_cleanup) &&
		find(library, "curl_easy_strerror", &api.easy_strerror) &&
		find(library, "curl_slist_append", &api.slist_append) &&
		find(library, "curl_slist_free_all", &api.slist_free_all) && api.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

struct body {
	char *text;
	size_t len, max;
	bool too_big;
};

static size_t receive(char *data, size_t size, size_t count, void *opaque)
{
	struct body *body = opaque;
	const size_t n = size * count;
	char *grown;

	if (n > body->max - body->len) {
		body->too_big = true;
		return 0;
	}
	grown = realloc(body->text, body->len + n + 1);
	if (!grown)
		return 0;
	memcpy(grown + body->len, data, n);
	body->text = grown;
	body->len += n;
	body->text[body->len] = '\0';
	return n;
}

/* Nothing but HTTP, whatever the URL says. libcurl before 7.85 only knows the older option of the same meaning. */
static bool limit_protocols(CURL *curl, bool allow_file)
{
	const CURLoption older = (CURLoption)181; /* CURLOPT_PROTOCOLS, whose name compilers warn about */
	const long bits = CURLPROTO_HTTP | CURLPROTO_HTTPS | (allow_file ? CURLPROTO_FILE : 0);

	return api.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, allow_file ? "http,https,file" : "http,https") == CURLE_OK ||
	       api.easy_setopt(curl, older, bits) == CURLE_OK;
}

/* false when the request cannot be made safe. */
static bool set_options(CURL *curl, const struct up_http_request *request, struct body *body, struct curl_slist **ret_headers)
{
	struct curl_slist *headers = NULL;
	char line[4096];

	api.easy_setopt(curl, CURLOPT_URL, request->url);
	if (!limit_protocols(curl, request->allow_file))
		return false;
	api.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	api.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	api.easy_setopt(curl, CURLOPT_TIMEOUT_MS, request->timeout_ms);
	api.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, request->timeout_ms);
	api.easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
	api.easy_setopt(curl, CURLOPT_WRITEDATA, body);
	/* A local source is never reached through a proxy that happens to be in the environment. */
	api.easy_setopt(curl, CURLOPT_PROXY, "");
	if (request->unix_socket)
		api.easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
	if (request->bearer && (size_t)snprintf(line, sizeof(line), "Authorization: Bearer %s", request->bearer) < sizeof(line)) {
		headers = api.slist_append(headers, line);
		api.easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	}
	memset(line, 0, sizeof(line));
	*ret_headers = headers;
	return true;
}

/* curl does not tell a missing socket from one without the right to it. */
static int connect_error(const struct up_http_request *request)
{
	if (request->unix_socket && access(request->unix_socket, R_OK | W_OK) < 0 && errno == EACCES)
		return -EACCES;
	return -ECONNREFUSED;
}

static int error_of(CURLcode code, const struct up_http_request *request, const struct body *body)
{
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		return connect_error(request);
	case CURLE_WRITE_ERROR:
		return body->too_big ? -EFBIG : -ENOMEM;
	default:
		return -EIO;
	}
}

int up_http_get(const struct up_http_request *request, struct up_http_reply *ret, char *error, size_t error_size)
{
	struct body body = { .max = request->max_bytes };
	struct curl_slist *headers = NULL;
	long status = 0;
	CURLcode code;
	CURL *curl;
	int r;

	pthread_once(&api_once, load);
	curl = api.loaded ? api.easy_init() : NULL;
	if (!curl) {
		snprintf(error, error_size, "libcurl is not installed (Debian: libcurl4)");
		return -ENOSYS;
	}
	code = set_options(curl, request, &body, &headers) ? api.easy_perform(curl) : CURLE_UNKNOWN_OPTION;
	api.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	r = error_of(code, request, &body);
	if (r == -EFBIG)
		snprintf(error, error_size, "the answer is longer than %zu bytes", request->max_bytes);
	else if (r == -EACCES)
		snprintf(error, error_size, "no permission to use the socket");
	else if (r < 0)
		snprintf(error, error_size, "%s", api.easy_strerror(code));
	api.slist_free_all(headers);
	api.easy_cleanup(curl);
	if (r == 0 && !body.text)
		r = (body.text = calloc(1, 1)) ? 0 : -ENOMEM;
	if (r < 0) {
		free(body.text);
		return r;
	}
	*ret = (struct up_http_reply){ .status = status, .body = body.text, .len = body.len };
	return 0;
}

void up_http_reply_done(struct up_http_reply *reply)
{
	free(reply->body);
	*reply = (struct up_http_reply){ 0 };
}
