#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void done_one(struct up_candidate *candidate)
{
	free(candidate->label);
	free(candidate->path);
	*candidate = (struct up_candidate){ 0 };
}

void up_candidates_done(struct up_candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		done_one(&candidates->items[i]);
	*candidates = (struct up_candidates){ 0 };
}

int up_candidates_add(struct up_candidates *candidates, const char *label, const char *path, int hierarchy, pid_t pid,
	struct up_candidate **ret_added)
{
	struct up_candidate added = { .pid = pid, .hierarchy = hierarchy };

	if (ret_added)
		*ret_added = NULL;
	for (size_t i = 0; i < candidates->count; i++)
		if (strcmp(candidates->items[i].path, path) == 0)
			return 0;
	if (candidates->count == UP_CANDIDATES_MAX) {
		candidates->more++;
		return 0;
	}
	added.label = strdup(label);
	added.path = strdup(path);
	if (!added.label || !added.path) {
		done_one(&added);
		return -ENOMEM;
	}
	candidates->items[candidates->count++] = added;
	if (ret_added)
		*ret_added = &candidates->items[candidates->count - 1];
	return 0;
}

/* Whether B is the group of A: a process inside B is, in A's hierarchy, in A's directory. */
static bool same_group(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	const struct up_candidate *a, const struct up_candidate *b)
{
	struct up_pid_cgroups paths;
	char dir[UP_PATH_MAX];
	pid_t *pids;
	size_t count;

	if (a->hierarchy == b->hierarchy || !up_path_join(hierarchies->items[b->hierarchy].mount, b->path, dir, sizeof(dir)) ||
		up_dir_pids(source, arena, dir, false, &pids, &count) < 0 || count == 0 ||
		up_pid_cgroups_read(source, arena, hierarchies, pids[0], &paths) < 0)
		return false;
	return paths.path[a->hierarchy] && strcmp(paths.path[a->hierarchy], a->path) == 0 && paths.path[b->hierarchy] &&
	       strcmp(paths.path[b->hierarchy], b->path) == 0;
}

static int by_label(const void *a, const void *b)
{
	return strcmp(((const struct up_candidate *)a)->label, ((const struct up_candidate *)b)->label);
}

void up_candidates_merge(const struct up_source *source, struct up_arena *arena, const struct up_hierarchies *hierarchies,
	struct up_candidates *candidates)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->count; i++) {
		bool known = false;

		for (size_t k = 0; k < kept && !known; k++)
			known = same_group(source, arena, hierarchies, &candidates->items[k], &candidates->items[i]);
		if (known)
			done_one(&candidates->items[i]);
		else
			candidates->items[kept++] = candidates->items[i];
	}
	candidates->count = kept;
	/* Directories come in no order that people know. */
	qsort(candidates->items, kept, sizeof(candidates->items[0]), by_label);
}

/* Length of the UTF-8 sequence at P, 0 when it is none or stands for a control character (U+0080 to U+009F). */
static size_t utf8_length(const unsigned char *p)
{
	const size_t len = p[0] >= 0xc2 && p[0] < 0xe0   ? 2
			   : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
			   : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
							 : 0;

	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

char *up_message_quote(const char *text, char *ret, size_t size)
{
	size_t out = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		const size_t utf8 = *p >= 0x80 ? utf8_length(p) : 0;
		const size_t len = utf8 ? utf8 : 1;
		char piece[8];

		if (utf8 || (*p >= 0x20 && *p < 0x7f))
			snprintf(piece, sizeof(piece), "%.*s", (int)len, (const char *)p);
		else
			snprintf(piece, sizeof(piece), "\\x%02x", *p);
		if (out + strlen(piece) >= size)
			break;
		memcpy(ret + out, piece, strlen(piece));
		out += strlen(piece);
		p += len;
	}
	ret[out] = '\0';
	return ret;
}

void up_message_add(char *message, size_t size, const char *format, ...)
{
	const size_t used = strlen(message);
	va_list args;

	va_start(args, format);
	vsnprintf(message + used, size - used, format, args);
	va_end(args);
}
