/* Hierarchies: which cgroup file systems are mounted where, from /proc/self/mountinfo (Documentation/filesystems/proc.rst, 3.5):
 *   32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:4 - cgroup cgroup rw,cpu,cpuacct
 * Field 4 is the directory of the hierarchy that is mounted; blanks in paths are octal. */
#include "internal.h"

#include <errno.h>
#include <string.h>

#include "useprobe/scan.h"

static const char *const controller_names[UP_CTL_COUNT] = {
	[UP_CTL_CPU] = "cpu",
	[UP_CTL_CPUACCT] = "cpuacct",
	[UP_CTL_CPUSET] = "cpuset",
	[UP_CTL_MEMORY] = "memory",
	[UP_CTL_PIDS] = "pids",
	[UP_CTL_IO] = "io",
	[UP_CTL_FREEZER] = "freezer",
};

const char *up_controller_name(enum up_controller controller)
{
	return controller_names[controller];
}

struct field {
	const char *text;
	size_t len;
};

/* One mount line as its fields; both formats. */
struct mount_line {
	struct field root, point, flags, type, options;
};

static bool next_field(const char **cursor, const char *end, struct field *ret)
{
	const char *p = *cursor;

	while (p < end && *p == ' ')
		p++;
	ret->text = p;
	while (p < end && *p != ' ')
		p++;
	ret->len = (size_t)(p - ret->text);
	*cursor = p;
	return ret->len > 0;
}

static bool field_is(const struct field *field, const char *text)
{
	return field->len == strlen(text) && memcmp(field->text, text, field->len) == 0;
}

static int split_mountinfo(const char *line, size_t len, struct mount_line *ret)
{
	const char *cursor = line, *const end = line + len;
	struct field skipped;

	for (int i = 0; i < 3; i++) /* the mount's number, its parent's, the device */
		if (!next_field(&cursor, end, &skipped))
			return -EBADMSG;
	if (!next_field(&cursor, end, &ret->root) || !next_field(&cursor, end, &ret->point) ||
		!next_field(&cursor, end, &ret->flags))
		return -EBADMSG;
	do { /* optional fields up to a lone dash */
		if (!next_field(&cursor, end, &skipped))
			return -EBADMSG;
	} while (!field_is(&skipped, "-"));
	/* The mount source may be empty, which leaves two blanks; then the last field is the options all the same. */
	if (!next_field(&cursor, end, &ret->type) || !next_field(&cursor, end, &skipped))
		return -EBADMSG;
	if (!next_field(&cursor, end, &ret->options))
		ret->options = skipped;
	return 0;
}

static int split_mounts(const char *line, size_t len, struct mount_line *ret)
{
	const char *cursor = line, *const end = line + len;
	struct field skipped;

	ret->root = (struct field){ "/", 1 };
	if (!next_field(&cursor, end, &skipped) || !next_field(&cursor, end, &ret->point) ||
		!next_field(&cursor, end, &ret->type) || !next_field(&cursor, end, &ret->options))
		return -EBADMSG;
	ret->flags = ret->options;
	return 0;
}

/* Bit of a v1 mount option or a v2 controller; 0 when it is none of ours. */
static unsigned controller_bit(const struct field *word)
{
	if (field_is(word, "blkio"))
		return 1u << UP_CTL_IO;
	for (unsigned i = 0; i < UP_CTL_COUNT; i++)
		if (field_is(word, controller_names[i]))
			return 1u << i;
	return 0;
}

/* "rw,cpu,cpuacct" or "rw,xattr,name=systemd": whole words only, so that name=cpu is not cpu. */
static unsigned v1_controllers(const struct field *options, bool *ret_systemd)
{
	unsigned bits = 0;
	size_t at = 0;

	*ret_systemd = false;
	while (at < options->len) {
		struct field word = { options->text + at, 0 };

		while (at + word.len < options->len && word.text[word.len] != ',')
			word.len++;
		bits |= controller_bit(&word);
		if (field_is(&word, "name=systemd"))
			*ret_systemd = true;
		at += word.len + 1;
	}
	return bits;
}

/* A mount whose root lies higher shows more: "/.." is above the cgroup namespace's own root. */
static bool shows_more(const char *root, const char *than)
{
	const unsigned up = up_path_count(root, true), than_up = up_path_count(than, true);

	return up != than_up ? up > than_up : up_path_count(root, false) < up_path_count(than, false);
}

/* Several mounts of one hierarchy (bind mounts, containers): the one that shows most of it stays, of equals the first. */
static void add_hierarchy(struct up_hierarchies *to, const struct up_hierarchy *found)
{
	for (size_t i = 0; i < to->count; i++) {
		struct up_hierarchy *have = &to->items[i];

		if (have->v2 != found->v2 || have->named != found->named || have->controllers != found->controllers)
			continue;
		if (shows_more(found->root, have->root))
			*have = *found;
		return;
	}
	if (to->count < UP_HIERARCHIES_MAX)
		to->items[to->count++] = *found;
}

static int parse_line(const char *line, size_t len, bool mountinfo, struct up_hierarchies *ret)
{
	struct up_hierarchy found = { 0 };
	struct mount_line fields;
	const int r = mountinfo ? split_mountinfo(line, len, &fields) : split_mounts(line, len, &fields);

	if (r < 0)
		return r;
	found.v2 = field_is(&fields.type, "cgroup2");
	if (!found.v2) {
		if (!field_is(&fields.type, "cgroup"))
			return 0;
		found.controllers = v1_controllers(&fields.options, &found.named);
		/* Controllers may be mounted together with a name; then the name says nothing more. */
		found.named = found.named && !found.controllers;
		if (!found.controllers && !found.named)
			return 0;
	}
	found.read_only = fields.flags.len >= 2 && memcmp(fields.flags.text, "ro", 2) == 0 &&
			  (fields.flags.len == 2 || fields.flags.text[2] == ',');
	/* A mount point or root too long for its field cannot be used; the other mounts can. */
	if (up_scan_unescape(fields.point.text, fields.point.len, found.mount, sizeof(found.mount)) < 0 ||
		up_scan_unescape(fields.root.text, fields.root.len, found.root, sizeof(found.root)) < 0)
		return 0;
	/* The directory behind a bind mount was removed: nothing can be read there. */
	if (strlen(found.root) > 9 && strcmp(found.root + strlen(found.root) - 9, "//deleted") == 0)
		return 0;
	add_hierarchy(ret, &found);
	return 0;
}

static bool has_fields(const char *line, int count)
{
	const char *const end = line + strlen(line);
	struct field field;

	while (count > 0 && next_field(&line, end, &field))
		count--;
	return count == 0;
}

int up_hierarchies_parse(const char *text, bool mountinfo, struct up_hierarchies *ret)
{
	const char *line;
	size_t len;
	bool cut = false;

	while (up_scan_line(&text, &line, &len, &cut)) {
		const int r = parse_line(line, len, mountinfo, ret);

		if (r < 0)
			return r;
	}
	/* A line of /proc/mounts ends with two numbers, so one that has both is whole even without its newline, which a tree put together by
	 * hand often lacks. A line of mountinfo shows no end. */
	if (cut && !mountinfo && has_fields(text, 6))
		return parse_line(text, strlen(text), false, ret);
	return cut ? -EBADMSG : 0;
}

static int read_mounts(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *ret)
{
	static const char *const plain[] = { "/proc/self/mounts", "/proc/mounts" };
	char *text;
	int r = up_source_read(source, arena, "/proc/self/mountinfo", &text, NULL);

	if (r == 0)
		return up_hierarchies_parse(text, true, ret);
	for (size_t i = 0; i < UP_COUNT(plain) && r == -ENOENT; i++)
		if ((r = up_source_read(source, arena, plain[i], &text, NULL)) == 0)
			return up_hierarchies_parse(text, false, ret);
	return r;
}

/* cgroup.controllers at the v2 mount: "cpuset cpu io memory pids\n" (Documentation/admin-guide/cgroup-v2.rst). */
static int v2_controllers(const struct up_source *source, struct up_arena *arena, const char *mount, unsigned *ret)
{
	char path[UP_PATH_MAX], *text;
	const char *cursor, *end;
	struct field word;
	unsigned bits = 0;
	int r;

	if (!up_path_join(mount, "/cgroup.controllers", path, sizeof(path)))
		return -ENAMETOOLONG;
	r = up_source_read(source, arena, path, &text, NULL);
	if (r < 0)
		return r;
	end = strchr(text, '\n');
	if (!end)
		return *text ? -EBADMSG : -ENOENT;
	for (cursor = text; next_field(&cursor, end, &word);)
		bits |= controller_bit(&word);
	*ret = bits;
	return 0;
}

static void assign_owners(struct up_hierarchies *hierarchies)
{
	for (unsigned c = 0; c < UP_CTL_COUNT; c++) {
		hierarchies->owner[c] = -1;
		for (size_t i = 0; i < hierarchies->count; i++)
			if (hierarchies->items[i].controllers & 1u << c)
				hierarchies->owner[c] = (int)i;
	}
}

int up_hierarchies_read(const struct up_source *source, struct up_arena *arena, struct up_hierarchies *ret)
{
	/* CPU usage and freezing belong to the v2 core since 4.15 and 5.2; no controller has to be enabled for them. */
	const unsigned core = 1u << UP_CTL_CPUACCT | 1u << UP_CTL_FREEZER;
	struct up_hierarchies found = { .v2 = -1 };
	unsigned v1 = 0, v2 = 0;
	int r = read_mounts(source, arena, &found);

	if (r < 0)
		return r;
	if (found.count == 0)
		return -ENOENT;
	for (size_t i = 0; i < found.count; i++) {
		if (found.items[i].v2)
			found.v2 = (int)i;
		v1 |= found.items[i].controllers;
	}
	if (found.v2 >= 0) {
		r = v2_controllers(source, arena, found.items[found.v2].mount, &v2);
		/* A recorded tree may lack the file: then all that v1 does not have is taken to be here. */
		if (r == -ENOENT)
			v2 = ~0u;
		else if (r < 0)
			return r;
		found.items[found.v2].controllers = (v2 | core) & ~v1 & ((1u << UP_CTL_COUNT) - 1);
	}
	assign_owners(&found);
	up_namespace_find(source, arena, &found);
	*ret = found;
	return 0;
}

size_t up_hierarchies_order(const struct up_hierarchies *hierarchies, int order[UP_HIERARCHIES_MAX])
{
	const int first[] = { hierarchies->owner[UP_CTL_CPU], hierarchies->v2, hierarchies->owner[UP_CTL_MEMORY],
		hierarchies->owner[UP_CTL_CPUACCT] };
	bool taken[UP_HIERARCHIES_MAX] = { false };
	size_t count = 0;

	for (size_t i = 0; i < UP_COUNT(first); i++) {
		if (first[i] < 0 || taken[first[i]])
			continue;
		taken[first[i]] = true;
		order[count++] = first[i];
	}
	for (int named = 0; named < 2; named++)
		for (size_t i = 0; i < hierarchies->count; i++)
			if (!taken[i] && hierarchies->items[i].named == named)
				order[count++] = (int)i;
	return count;
}
