#include "useprobe/http_guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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
bool up_http_host_allowed(const struct up_http_guard *guard, const char *host)
{
	char name[256];

	if (!host || !host_name(host, name, sizeof(name)))
		return false;
	if (strcasecmp(name, "localhost") == 0 || is_loopback(name) || strcasecmp(name, guard->address) == 0)
		return true;
	for (size_t i = 0; i < guard->n_hosts; i++)
		if (strcasecmp(name, guard->hosts[i]) == 0)
			return true;
	return !guard->loopback && guard->n_hosts == 0;
}

/* Browsers send Origin with requests of other pages; nothing else of interest does. Only our own pages would be welcome. */
bool up_http_origin_allowed(const struct up_http_guard *guard, const char *origin, const char *host)
{
	if (!origin)
		return true;
	if (strncmp(origin, "http://", 7) != 0 || !host)
		return false;
	return strcasecmp(origin + 7, host) == 0 && up_http_host_allowed(guard, host);
}

bool up_http_token_matches(const struct up_http_guard *guard, const char *authorization)
{
	size_t len = strlen(guard->token), given;
	unsigned char differs = 0;

	if (len == 0)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
		return false;
	authorization += 7;
	given = strlen(authorization);
	/* All bytes are looked at, so that the time does not tell how many were right. */
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)(guard->token[i] ^ (i < given ? authorization[i] : '\0'));
	return given == len && differs == 0;
}

int up_http_listen_parse(const char *text, struct up_http_guard *guard)
{
	const char *colon = strrchr(text, ':');
	unsigned char any[16];
	uint64_t port;

	if (!colon || !host_name(text, guard->address, sizeof(guard->address)) || up_scan_whole_u64(colon + 1, &port) < 0 ||
		port > 65535)
		return -EINVAL;
	if (inet_pton(AF_INET, guard->address, any) != 1 && inet_pton(AF_INET6, guard->address, any) != 1)
		return -EINVAL;
	guard->port = (uint16_t)port;
	guard->loopback = is_loopback(guard->address);
	return 0;
}
