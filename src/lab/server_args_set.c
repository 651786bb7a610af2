/* server_args_set - options of a server that are more than one number. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server_args.h"

/* "10:40" = one in ten waits 40 ms longer. */
int lab_server_set_miss(struct lab_server_args *args, const char *text)
{
	const char *field[3];
	uint64_t every;
	double ms;
	char digits[16];

	if (!text)
		text = "10:40";
	if (lab_fields_split(text, ':', 2, field) != 2 || field[1] - field[0] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	if (lab_count_read(digits, 1, 1000000, &every) < 0 || lab_number_read(field[1], &ms) < 0 || ms > 60000)
		return -EINVAL;
	args->options->miss_every = (unsigned)every;
	args->options->miss_ns = (uint64_t)(ms * (double)LAB_NS_PER_MS);
	return 0;
}

/* "4s:250ms" = every 4 s for 250 ms; both times of a pair in general. */
static int pair_of_times(const char *text, uint64_t *ret_first_ns, uint64_t *ret_second_ns)
{
	const char *field[3];
	uint64_t first_ns, second_ns;

	if (lab_fields_split(text, ':', 2, field) != 2 || lab_time_scan(field[0], field[1] - 1, &first_ns) < 0 ||
		lab_time_read(field[1], &second_ns) < 0 || !second_ns)
		return -EINVAL;
	*ret_first_ns = first_ns;
	*ret_second_ns = second_ns;
	return 0;
}

int lab_server_set_report(struct lab_server_args *args, const char *text)
{
	struct lab_server_options *o = args->options;
	uint64_t every_ns, hold_ns;

	if (pair_of_times(text ? text : "4s:250ms", &every_ns, &hold_ns) < 0 || every_ns < LAB_NS_PER_MS)
		return -EINVAL;
	o->report_every_ns = every_ns;
	o->report_hold_ns = hold_ns;
	return 0;
}

int lab_server_set_freeze(struct lab_server_args *args, const char *text)
{
	return pair_of_times(text, &args->options->freeze_at_ns, &args->options->freeze_for_ns);
}

int lab_server_set_slow(struct lab_server_args *args, const char *text)
{
	const char *field[4];
	uint64_t at_ns, for_ns;
	double factor;

	if (lab_fields_split(text, ':', 3, field) != 3 || lab_time_scan(field[0], field[1] - 1, &at_ns) < 0 ||
		lab_time_scan(field[1], field[2] - 1, &for_ns) < 0 || lab_number_read(field[2], &factor) < 0 || factor > 1000)
		return -EINVAL;
	args->options->slow_at_ns = at_ns;
	args->options->slow_for_ns = for_ns;
	args->options->slow_factor = factor;
	return 0;
}

int lab_server_set_mode(struct lab_server_args *args, const char *text)
{
	static const char *const names[] = { "pool", "thread-per-request", "direct", "single" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			args->options->mode = (enum lab_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

int lab_server_set_single(struct lab_server_args *args, const char *text)
{
	(void)text;
	args->options->mode = LAB_MODE_SINGLE;
	return 0;
}

/* "FILE:MB:PAGES" */
int lab_server_set_pages(struct lab_server_args *args, const char *text)
{
	const char *field[4];
	char digits[16];
	uint64_t mb, pages;

	if (lab_fields_split(text, ':', 3, field) != 3 || field[1] - field[0] > (ptrdiff_t)sizeof(args->options->pages_path) ||
		field[2] - field[1] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[2] - field[1] - 1), field[1]);
	if (lab_count_read(digits, 1, 65536, &mb) < 0 || lab_count_read(field[2], 1, 10000, &pages) < 0)
		return -EINVAL;
	snprintf(args->options->pages_path, sizeof(args->options->pages_path), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	args->options->pages_mb = (unsigned)mb;
	args->options->pages_per_request = (unsigned)pages;
	return 0;
}

/* "2:50" = two threads, each busy 50 % of the time. */
int lab_server_set_decoys(struct lab_server_args *args, const char *text)
{
	const char *field[3];
	char digits[16];
	uint64_t n;
	double percent = 50;
	const int fields = lab_fields_split(text, ':', 2, field);

	if (fields < 1 || field[1] - field[0] > (ptrdiff_t)sizeof(digits))
		return -EINVAL;
	snprintf(digits, sizeof(digits), "%.*s", (int)(field[1] - field[0] - 1), field[0]);
	if (lab_count_read(digits, 0, 256, &n) < 0)
		return -EINVAL;
	if (fields == 2 && (lab_number_read(field[1], &percent) < 0 || percent > 100))
		return -EINVAL;
	args->options->decoys = (unsigned)n;
	args->options->decoy_ratio = percent / 100;
	return 0;
}

/* "ADDR:PORT[,pool=P][,queries=N][,every=K]" */
int lab_server_set_db(struct lab_server_args *args, const char *text)
{
	struct lab_server_options *o = args->options;
	struct lab_dependency dependency = { .every = 1 };
	const struct {
		const char *name;
		unsigned *place;
	} keys[] = { { "pool=", &dependency.pool }, { "queries=", &dependency.queries }, { "every=", &dependency.every } };
	const char *field[5];
	char part[128];
	uint64_t count;
	const int n = lab_fields_split(text, ',', 4, field);

	if (n < 1 || o->n_dependencies == LAB_DEPENDENCIES_MAX)
		return -EINVAL;
	for (int i = 0; i < n; i++) {
		bool known = i == 0;

		snprintf(part, sizeof(part), "%.*s", (int)(field[i + 1] - field[i] - 1), field[i]);
		if (i == 0 && lab_address_read(part, &dependency.address) < 0)
			return -EINVAL;
		for (unsigned k = 0; i > 0 && k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (strncmp(part, keys[k].name, strlen(keys[k].name)) != 0)
				continue;
			if (lab_count_read(part + strlen(keys[k].name), 1, 10000, &count) < 0)
				return -EINVAL;
			*keys[k].place = (unsigned)count;
			known = true;
		}
		if (!known)
			return -EINVAL;
	}
	o->dependencies[o->n_dependencies++] = dependency;
	return 0;
}

int lab_server_set_pool(struct lab_server_args *args, const char *text)
{
	uint64_t count;

	if (lab_count_read(text, 1, 10000, &count) < 0)
		return -EINVAL;
	args->pool = (unsigned)count;
	return 0;
}

int lab_server_set_queries(struct lab_server_args *args, const char *text)
{
	uint64_t count;

	if (lab_count_read(text, 1, 1000, &count) < 0)
		return -EINVAL;
	args->queries = (unsigned)count;
	return 0;
}

int lab_server_set_quiet(struct lab_server_args *args, const char *text)
{
	(void)text;
	args->options->quiet = true;
	return 0;
}
