/* What must not be told: secrets, connection strings. Pure. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bridge.h"
#include "useprobe/scan.h"

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
