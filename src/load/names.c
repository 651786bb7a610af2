/* Names of requests, each kept once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "useprobe/load.h"

static const char other_name[] = "(other names)";

static uint32_t hash(const char *name, size_t n)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h;
}

static bool same(const char *have, const char *name, size_t n)
{
	return strncmp(have, name, n) == 0 && have[n] == '\0';
}

static int put(struct up_names *names, const char *name, size_t n)
{
	char *copy = strndup(name, n);
	uint32_t at = hash(name, n) & (names->slots - 1);

	if (!copy)
		return -ENOMEM;
	while (names->slot[at])
		at = (at + 1) & (names->slots - 1);
	names->name[names->n] = copy;
	names->slot[at] = ++names->n;
	return (int)names->n - 1;
}

int up_names_init(struct up_names *names)
{
	*names = (struct up_names){ .room = UP_POINT_NAMES_MAX, .slots = 2 * UP_POINT_NAMES_MAX };
	names->name = calloc(names->room, sizeof(*names->name));
	names->slot = calloc(names->slots, sizeof(*names->slot));
	if (!names->name || !names->slot || put(names, "", 0) < 0) {
		up_names_done(names);
		return -ENOMEM;
	}
	return 0;
}

void up_names_done(struct up_names *names)
{
	if (!names)
		return;
	for (unsigned i = 0; names->name && i < names->n; i++)
		free(names->name[i]);
	free(names->name);
	free(names->slot);
	*names = (struct up_names){ 0 };
}

int up_names_get(struct up_names *names, const char *name, size_t n)
{
	uint32_t at;

	if (memchr(name, '\0', n)) /* a NUL inside would end the copy early */
		n = strnlen(name, n);
	if (same(names->name[names->last], name, n))
		return (int)names->last;
	at = hash(name, n) & (names->slots - 1);
	for (; names->slot[at]; at = (at + 1) & (names->slots - 1)) {
		if (same(names->name[names->slot[at] - 1], name, n)) {
			names->last = names->slot[at] - 1;
			return (int)names->last;
		}
	}
	if (names->n == names->room)
		return (int)names->room - 1;
	if (names->n == names->room - 1)
		return put(names, other_name, sizeof(other_name) - 1);
	return put(names, name, n);
}
