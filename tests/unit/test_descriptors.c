/* "descriptors" on a recorded tree and on this very process. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_to_its_limit_first),
		cmocka_unit_test(live_counts_follow_what_is_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
