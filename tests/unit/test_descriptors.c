/* "descriptors" on a recorded tree and on this very process. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fake.h"
#include "rig.h"

extern const struct up_collector up_collector_descriptors;

static void nearest_to_its_limit_first(void **state)
{
	const struct up_rows *rows;
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "descriptors", "api", UP_NS_PER_S, "descriptors");
	rig_tick(&rig);
	rows = &up_probe_table(rig.probe)->rows;
	assert_int_equal(rows->count, 2);
	assert_string_equal(rows->items[0].name, "worker[42]");
	assert_near(rows->items[0].utilization.number, 0.75, 1e-9, "3 of 4");
	assert_near(rows->items[1].utilization.number, 2.0 / 1024, 1e-9, "2 of 1024");
	assert_int_equal(rows->items[0].errors.state, UP_ABSENT);
	rig_close(&rig);
}

static void live_counts_follow_what_is_opened(void **state)
{
	const struct up_row *row;
	char message[256];
	double before, after;
	struct rig rig;
	int fds[10];

	(void)state;
	rig_open(&rig, NULL, NULL, UP_NS_PER_S, "nothing");
	assert_int_equal(up_targets_add_pid(&rig.targets, &rig.source, &rig.arena, getpid(), message, sizeof(message)), 0);
	up_probe_free(rig.probe);
	assert_int_equal(up_probe_new(
				 &(struct up_probe_config){
					 .source = &rig.source,
					 .clock = &rig.clock,
					 .targets = &rig.targets,
					 .interval_ns = UP_NS_PER_S,
					 .only = "descriptors",
				 },
				 &rig.probe),
		0);
	rig_tick(&rig);
	row = rig_row(&rig, "descriptors", NULL);
	assert_non_null(row);
	assert_true(up_detail_get_number(row->detail, "used", &before));
	for (size_t i = 0; i < UP_COUNT(fds); i++)
		fds[i] = open("/dev/null", O_RDONLY);
	rig_tick(&rig);
	assert_true(up_detail_get_number(rig_row(&rig, "descriptors", NULL)->detail, "used", &after));
	assert_near(after - before, 10, 0, "ten more descriptors");
	for (size_t i = 0; i < UP_COUNT(fds); i++)
		close(fds[i]);
	rig_close(&rig);
}

/* A process that the cgroup lists and /proc does not show has ended, or is hidden: the mount tells which. */
static void hidden_is_not_ended(void **state)
{
	static const struct {
		const char *mountinfo, *hidepid; /* NULL: not hidden */
	} cases[] = {
		{ "22 27 0:20 / /proc rw,nosuid - proc proc rw,hidepid=2\n", "hidepid=2" },
		{ "22 27 0:20 / /proc rw shared:7 master:1 - proc proc rw,hidepid=invisible,gid=0\n", "hidepid=invisible" },
		{ "22 27 0:20 / /proc rw - proc proc rw\n", NULL },
		{ "22 27 0:20 / /proc rw - proc proc rw,hidepid=0\n", NULL },
		{ "22 27 0:20 / /proc rw - proc proc rw,hidepid=2\n23 22 0:21 / /proc rw - proc proc rw\n", NULL },
		{ "22 27 0:20 / /mnt rw - proc proc rw,hidepid=2\n", NULL },
		{ "22 27 0:20 / /proc rw -\n", NULL },
		{ "22\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;
		int r;

		fake_init_copy(&fake, &up_collector_descriptors, "", FAKE_V2, "/api");
		fake_put(&fake, "t0/sys/fs/cgroup/api/cgroup.procs", "4242\n");
		fake_put(&fake, "t0/proc/self/mountinfo", cases[i].mountinfo);
		r = fake_tick(&fake, 1);
		if (r != (cases[i].hidepid ? -EACCES : 0) || (cases[i].hidepid && !strstr(fake.env.error, cases[i].hidepid)))
			fail_msg("%s: %d %s", cases[i].mountinfo, r, fake.env.error);
		assert_int_equal(fake.rows.count, 0);
		fake_done(&fake);
	}
}

/* One that is shown has its row, which says how many are hidden. */
static void some_are_hidden(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_descriptors, "descriptors", FAKE_V2, "/api");
	fake_put(&fake, "t0/sys/fs/cgroup/api/cgroup.procs", "42\n4242\n4243\n");
	fake_put(&fake, "t0/proc/self/mountinfo", "22 27 0:20 / /proc rw - proc proc rw,hidepid=4\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_detail(fake_row(&fake, "descriptors", "worker[42]"), "hidden_processes", 2);
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_to_its_limit_first),
		cmocka_unit_test(live_counts_follow_what_is_opened),
		cmocka_unit_test(hidden_is_not_ended),
		cmocka_unit_test(some_are_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
