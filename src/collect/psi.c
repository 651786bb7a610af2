#include "psi.h"

#include <errno.h>
#include <string.h>

#include "useprobe/clock.h"

/* total= is the last field of a line; what stands before it may grow. */
static int scan_total(const char *line, size_t len, struct up_u64 *ret)
{
	static const char key[] = " total=";
	const char *found = NULL;
	uint64_t n;

	for (const char *p = line; p + sizeof(key) - 1 <= line + len; p++)
		if (strncmp(p, key, sizeof(key) - 1) == 0)
			found = p + sizeof(key) - 1;
	if (!found || up_scan_u64(&found, &n) < 0 || found != line + len)
		return -EBADMSG;
	*ret = (struct up_u64){ .n = n, .has = true };
	return 0;
}

int psi_scan(const char *text, struct psi *ret)
{
	struct psi psi = { 0 };
	const char *line;
	bool cut = false;
	size_t len;

	while (up_scan_line(&text, &line, &len, &cut)) {
		int r = 0;

		if (strncmp(line, "some ", 5) == 0)
			r = scan_total(line, len, &psi.some_us);
		else if (strncmp(line, "full ", 5) == 0)
			r = scan_total(line, len, &psi.full_us);
		if (r < 0)
			return r;
	}
	if (cut || (!psi.some_us.has && !psi.full_us.has))
		return -EBADMSG;
	*ret = psi;
	return 0;
}

/* The files of a cgroup disappear when its cgroup.pressure is set to 0. */
static bool switched_off_here(struct up_env *env, const char *path, struct up_arena *arena)
{
	const char *slash = strrchr(path, '/');
	char *text, *sibling;

	if (!slash)
		return false;
	sibling = up_arena_printf(arena, "%.*s/cgroup.pressure", (int)(slash - path), path);
	return sibling && up_source_read(env->source, arena, sibling, &text, NULL) == 0 && strcmp(text, "0\n") == 0;
}

int psi_read(struct up_env *env, struct up_file *file, struct up_arena *arena, struct psi *ret)
{
	char *text;
	int r = file->path ? up_file_read(env->source, file, arena, &text, NULL) : -ENOENT;

	*ret = (struct psi){ 0 };
	if (r == -ENOENT && file->path && switched_off_here(env, file->path, arena))
		r = -ENODATA;
	if (r == 0 && psi_scan(text, ret) < 0)
		r = up_fail(env, -EBADMSG, "%s: not understood: \"%.60s\"", file->path, text);
	else if (r < 0)
		up_fail(env, r, "%s: %s", file->path ? file->path : "PSI", psi_reason(r));
	ret->error = r;
	return r;
}

const char *psi_reason(int error)
{
	switch (error) {
	case -ENOENT:
		return "no pressure file (kernel without CONFIG_PSI, or PSI of this cgroup only on v2)";
	case -ENODATA:
		return "PSI of this cgroup is switched off (cgroup.pressure is 0)";
	case -EOPNOTSUPP:
		return "PSI is switched off (psi=0): Operation not supported";
	case -EACCES:
	case -EPERM:
		return "Permission denied";
	case -EBADMSG:
		return "the pressure file is not understood";
	default:
		return "the pressure file cannot be read";
	}
}

static struct up_value failed(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENODATA:
	case -EOPNOTSUPP:
		return up_none(psi_reason(error));
	case -EACCES:
	case -EPERM:
		return up_value_state(UP_DENIED, psi_reason(error));
	default:
		return up_value_state(UP_FAILED, psi_reason(error));
	}
}

static struct up_value share(const struct psi *prev, const struct psi *cur, size_t line, uint64_t dt_ns, const char *line_reason)
{
	const struct up_u64 *before = prev && prev->error == 0 ? (const void *)((const char *)prev + line) : NULL;
	const struct up_u64 *now = (const void *)((const char *)cur + line);

	if (cur->error < 0)
		return failed(cur->error);
	return up_scaled(up_delta(before, *now, line_reason), (double)UP_NS_PER_US, (double)dt_ns, "no time passed");
}

struct up_value psi_some_share(const struct psi *prev, const struct psi *cur, uint64_t dt_ns, const char *line_reason)
{
	return share(prev, cur, offsetof(struct psi, some_us), dt_ns, line_reason);
}

struct up_value psi_full_share(const struct psi *prev, const struct psi *cur, uint64_t dt_ns, const char *line_reason)
{
	return share(prev, cur, offsetof(struct psi, full_us), dt_ns, line_reason);
}
