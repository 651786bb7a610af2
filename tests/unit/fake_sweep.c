/* The truncation sweep: the kernel ends every line it writes, so a cut file must give an error or nothing, never another number. */
#include <stdlib.h>

#include "fake.h"
#include "fake_tree.h"

static bool ends_so(const char *path, const char *end)
{
	const size_t len = strlen(path), end_len = end ? strlen(end) : 0;

	return end_len && len >= end_len && strcmp(path + len - end_len, end) == 0;
}

/* A collector that is given its target reads none of these. */
static bool is_aside(const char *path)
{
	return ends_so(path, "README") || ends_so(path, "mountinfo") || ends_so(path, "cgroup.controllers");
}

static bool same(struct up_value whole, struct up_value cut)
{
	return cut.state != UP_OK || (whole.state == UP_OK && fabs(whole.number - cut.number) <= 1e-9 * fabs(whole.number));
}

/* Every number in CUT's detail is in WHOLE's detail, with that number. */
static bool same_detail(const char *whole, const char *cut)
{
	char key[64], a[256], b[256];

	for (const char *p = cut; p && *p;) {
		const size_t key_len = strcspn(p, "=");
		double number;

		snprintf(key, sizeof(key), "%.*s", (int)key_len, p);
		if (!ends_so(key, "_state") && up_detail_get_number(cut, key, &number) && up_detail_get(cut, key, a, sizeof(a)) &&
			(!up_detail_get(whole, key, b, sizeof(b)) || strcmp(a, b) != 0))
			return false;
		p += strcspn(p, ";");
		p += *p == ';';
	}
	return true;
}

/* What CUT says that WHOLE does not, NULL when nothing. */
static const char *difference(const struct fake *whole, const struct fake *cut)
{
	for (size_t i = 0; i < cut->rows.count; i++) {
		const struct up_row *c = &cut->rows.items[i], *w = fake_find(whole, c->resource, c->name);

		if (!w)
			return c->resource;
		if (!same(w->utilization, c->utilization))
			return "utilization";
		if (!same(w->saturation, c->saturation))
			return "saturation";
		if (!same(w->waiting, c->waiting))
			return "waiting";
		if (!same(w->errors, c->errors))
			return "errors";
		if (!same_detail(w->detail, c->detail))
			return c->detail;
	}
	return NULL;
}

static int run(struct fake *fake, unsigned ticks)
{
	int r = 0;

	for (unsigned i = 0; i < ticks && r == 0; i++)
		r = fake_tick(fake, 1);
	return r;
}

/* Back to the first tick, as fake_init left it. */
static void rewind_run(struct fake *fake)
{
	fake_reopen(fake);
	fake->ticks = 0;
	up_source_close(&fake->source);
	assert_int_equal(up_source_open(&fake->source, fake->dir), 0);
}

static size_t sweep_file(const struct fake *whole, struct fake *cut, const char *path, unsigned ticks)
{
	size_t len, wrong = 0;
	char *data = fake_tree_read(cut->dir, path, &len);

	for (size_t n = 0; n < len; n++) {
		const char *what;

		fake_tree_write(cut->dir, path, data, n);
		rewind_run(cut);
		what = run(cut, ticks) < 0 ? NULL : difference(whole, cut);
		if (what && wrong++ < 3)
			print_message("%s cut to %zu of %zu bytes: wrong %.80s\n", path, n, len, what);
	}
	fake_tree_write(cut->dir, path, data, len);
	free(data);
	return wrong;
}

size_t fake_count_wrong(const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup,
	unsigned ticks, const char *skip)
{
	struct fake whole, cut;
	size_t count, wrong = 0;
	char **files;

	fake_init(&whole, collector, fixture, layout, cgroup);
	fake_init_copy(&cut, collector, fixture, layout, cgroup);
	if (run(&whole, ticks) < 0)
		fail_msg("%s: the whole tree fails: %s", fixture, whole.env.error);
	files = fake_tree_files(cut.dir, &count);
	for (size_t i = 0; i < count; i++) {
		if (!ends_so(files[i], skip) && !is_aside(files[i]))
			wrong += sweep_file(&whole, &cut, files[i], ticks);
		free(files[i]);
	}
	free(files);
	fake_done(&whole);
	fake_done(&cut);
	return wrong;
}

void fake_sweep(const struct up_collector *collector, const char *fixture, enum fake_layout layout, const char *cgroup,
	unsigned ticks, const char *skip)
{
	const size_t wrong = fake_count_wrong(collector, fixture, layout, cgroup, ticks, skip);

	if (wrong)
		fail_msg("%s: %zu prefixes gave a wrong number", fixture, wrong);
}
