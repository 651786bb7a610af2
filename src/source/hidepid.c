/* hidepid: whether /proc hides the processes of other users, from mountinfo:
 *     22 27 0:20 / /proc rw,nosuid - proc proc rw,hidepid=invisible,gid=0
 * With 1 or noaccess their directories are there and their files refused, with 2 or invisible they are not there at all, with 4 or
 * ptraceable only those that may be traced are. A process that cannot be found there has not ended. */
#include <stdio.h>
#include <string.h>

#include "useprobe/scan.h"
#include "useprobe/source.h"

/* The N-th word of the line, counted from 0; its length 0 past the end. */
static const char *word(const char *line, size_t len, unsigned n, size_t *ret_len)
{
	const char *p = line, *const end = line + len;

	for (;; n--) {
		const char *space = memchr(p, ' ', (size_t)(end - p));

		*ret_len = (size_t)((space ? space : end) - p);
		if (n == 0 || !space)
			break;
		p = space + 1;
	}
	if (n > 0)
		*ret_len = 0;
	return p;
}

static bool is(const char *text, size_t len, const char *word_text)
{
	return len == strlen(word_text) && memcmp(text, word_text, len) == 0;
}

/* Options of the superblock when the line mounts a proc file system on /proc, NULL for other lines. */
static const char *proc_options(const char *line, size_t len, size_t *ret_len)
{
	unsigned n = 6;
	size_t word_len;
	const char *p = word(line, len, 4, &word_len);

	if (!is(p, word_len, "/proc"))
		return NULL;
	/* Optional fields end with a lone dash; behind it stand type, source and options. */
	do
		p = word(line, len, n++, &word_len);
	while (word_len && !is(p, word_len, "-"));
	p = word(line, len, n, &word_len);
	if (!is(p, word_len, "proc"))
		return NULL;
	p = word(line, len, n + 2, ret_len);
	return *ret_len ? p : NULL;
}

bool up_source_hidepid(const struct up_source *source, struct up_arena *arena, char *ret, size_t size)
{
	static const char key[] = "hidepid=";
	const char *cursor, *line, *newest = NULL;
	size_t len, options_len, newest_len = 0;
	char *text;

	if (up_source_read(source, arena, "proc/self/mountinfo", &text, NULL) < 0)
		return false;
	for (cursor = text; up_scan_line(&cursor, &line, &len, NULL);) {
		const char *options = proc_options(line, len, &options_len);

		if (options) {
			newest = options;
			newest_len = options_len;
		}
	}
	for (const char *p = newest, *end = newest + newest_len; p && p < end;) {
		const char *comma = memchr(p, ',', (size_t)(end - p));
		const size_t n = (size_t)((comma ? comma : end) - p);

		if (n >= sizeof(key) && memcmp(p, key, sizeof(key) - 1) == 0) {
			snprintf(ret, size, "%.*s", (int)(n - (sizeof(key) - 1)), p + sizeof(key) - 1);
			return strcmp(ret, "0") != 0 && strcmp(ret, "off") != 0;
		}
		p += n + 1;
	}
	return false;
}
