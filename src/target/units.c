/* Units: how systemd names cgroups (systemd.unit(5), systemd.slice(5), systemd-escape(1)). */
#include "internal.h"

#include <stdio.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool up_unit_unescape(const char *name, char *ret, size_t size)
{
	size_t out = 0;

	for (; *name; name++) {
		char c = *name;

		if (c == '\\' && name[1] == 'x' && hex_digit(name[2]) >= 0 && hex_digit(name[3]) >= 0) {
			c = (char)(hex_digit(name[2]) * 16 + hex_digit(name[3]));
			if (!c)
				return false;
			name += 3;
		}
		if (out + 1 >= size)
			return false;
		ret[out++] = c;
	}
	ret[out] = '\0';
	return true;
}

bool up_unit_slice_path(const char *name, char *ret, size_t size)
{
	const size_t len = strlen(name);
	size_t used = 0;

	if (len <= 6 || strcmp(name + len - 6, ".slice") != 0 || name[0] == '-' || name[len - 7] == '-' || strchr(name, '/') ||
		strstr(name, "--"))
		return false;
	/* Every dash opens a level: the part before it is the parent's name. */
	for (size_t at = 0; at <= len - 6; at++) {
		int n;

		if (at < len - 6 && name[at] != '-')
			continue;
		n = snprintf(ret + used, size - used, "/%.*s.slice", (int)at, name);
		if (n < 0 || (size_t)n >= size - used)
			return false;
		used += (size_t)n;
	}
	return true;
}
