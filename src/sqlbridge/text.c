/* Who may ask, and what must not be told: Host, Origin, token, secrets, connection strings. Pure. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bridge.h"
#include "useprobe/scan.h"

/* The name in "NAME[:PORT]" or "[V6][:PORT]". false when it is none. */
static bool host_name(const char *host, char *ret, size_t size)
{
	const char *end = host;
	uint64_t port;

	if (*host == '[') {
		end = strchr(++host, ']');
		if (!end || (end[1] != '\0' && end[1] != ':'))
			return false;
	} else {
		end = host + strcspn(host, ":");
	}
	if (end == host || (size_t)(end - host) >= size)
		return false;
	memcpy(ret, host, (size_t)(end - host));
	ret[end - host] = '\0';
	end += *end == ']';
	return *end == '\0' || (up_scan_whole_u64(end + 1, &port) == 0 && port <= 65535);
}

static bool is_loopback(const char *name)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, name, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	if (inet_pton(AF_INET6, name, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return false;
}

/* A page of the open web can make a browser call 127.0.0.1 under a name of its own (DNS rebinding); the name is then in Host. Beyond
 * loopback the token, which that page does not have, stands in its way, and we cannot know all our names. */
bool bridge_host_allowed(const struct bridge_options *options, const char *host)
{
	char name[256];

	if (!host || !host_name(host, name, sizeof(name)))
		return false;
	if (strcasecmp(name, "localhost") == 0 || is_loopback(name) || strcasecmp(name, options->address) == 0)
		return true;
	for (size_t i = 0; i < options->n_hosts; i++)
		if (strcasecmp(name, options->hosts[i]) == 0)
			return true;
	return !options->loopback && options->n_hosts == 0;
}

/* Browsers send Origin with requests of other pages; nothing else of interest does. Only our own pages would be welcome. */
bool bridge_origin_allowed(const struct bridge_options *options, const char *origin, const char *host)
{
	if (!origin)
		return true;
	if (strncmp(origin, "http://", 7) != 0 || !host)
		return false;
	return strcasecmp(origin + 7, host) == 0 && bridge_host_allowed(options, host);
}

bool bridge_token_matches(const struct bridge_options *options, const char *authorization)
{
	size_t len = strlen(options->token), given;
	unsigned char differs = 0;

	if (len == 0)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	authorization += 7;
	given = strlen(authorization);
	/* All bytes are looked at, so that the time does not tell how many were right. */
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(options->token[i] ^ (i < given ? authorization[i] : '\0'));
	return given == len && differs == 0;
}

void bridge_redact(char *text, const char *secret)
{
	size_t len = strlen(secret);

	if (len == 0)
		return;
	for (char *at = strstr(text, secret); at; at = strstr(at + len, secret))
		memset(at, '*', len);
}

/* One "key=value" at *CURSOR, value bare or in braces ("}}" stands for "}"). Moves the cursor behind its ';'. false at the end. */
static bool next_pair(const char **cursor, const char **key, size_t *key_len, char *value, size_t size)
{
	const char *at = *cursor + strspn(*cursor, "; \t\r\n");
	size_t n = 0;

	*key = at;
	*key_len = strcspn(at, "=;");
	at += *key_len;
	if (*at != '=') {
		*cursor = at;
		return *at != '\0' || *key_len > 0;
	}
	at++;
	at += strspn(at, " ");
	value[0] = '\0';
	if (*at == '{') {
		for (at++; *at && !(*at == '}' && at[1] != '}'); at++) {
			at += *at == '}';
			if (n + 1 < size)
				value[n++] = *at;
		}
	} else {
		for (; *at && *at != ';' && *at != '\n' && *at != '\r'; at++)
			if (n + 1 < size)
				value[n++] = *at;
	}
	value[n] = '\0';
	*cursor = at + strcspn(at, ";");
	return true;
}

bool bridge_connection_value(const char *connection, const char *key, char *ret, size_t size)
{
	const char *cursor = connection, *name;
	char value[512];
	size_t len;
	bool found = false;

	for (;;) {
		value[0] = '\0';
		if (!next_pair(&cursor, &name, &len, value, sizeof(value)))
			return found;
		while (len > 0 && name[len - 1] == ' ')
			len--;
		if (len == strlen(key) && strncasecmp(name, key, len) == 0 && strlen(value) < size) {
			memcpy(ret, value, strlen(value) + 1);
			found = true;
		}
		if (*cursor == '\0')
			return found;
	}
}

/* Braces only where they are needed: FreeTDS 1.3.17 takes the closing one for a part of the value. */
int bridge_connection_add(char *connection, size_t size, const char *key, const char *value)
{
	bool braces = strpbrk(value, ";{}") || value[0] == ' ' || (value[0] && value[strlen(value) - 1] == ' ');
	size_t n = strlen(connection);
	int head = snprintf(
		connection + n, size - n, "%s%s=%s", n > 0 && connection[n - 1] != ';' ? ";" : "", key, braces ? "{" : "");

	if (head < 0 || (size_t)head >= size - n)
		return -ENOSPC;
	n += (size_t)head;
	for (; *value; value++) {
		if (n + 4 > size)
			return -ENOSPC;
		connection[n++] = *value;
		if (*value == '}')
			connection[n++] = '}';
	}
	if (n + 2 > size)
		return -ENOSPC;
	if (braces)
		connection[n++] = '}';
	connection[n] = '\0';
	return 0;
}

int bridge_listen_parse(const char *text, struct bridge_options *options)
{
	const char *colon = strrchr(text, ':');
	unsigned char any[16];
	uint64_t port;

	if (!colon || !host_name(text, options->address, sizeof(options->address)) || up_scan_whole_u64(colon + 1, &port) < 0 ||
		port > 65535)
		return -EINVAL;
	if (inet_pton(AF_INET, options->address, any) != 1 && inet_pton(AF_INET6, options->address, any) != 1)
		return -EINVAL;
	options->port = (uint16_t)port;
	options->loopback = is_loopback(options->address);
	return 0;
}
