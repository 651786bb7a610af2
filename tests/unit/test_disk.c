/* disk and host_disk on recorded trees. */
#include <errno.h>

#include "../../src/collect/disk_latency.h"
#include "fake.h"
#include "rig.h"
#include "useprobe/delay.h"

extern const struct up_collector up_collector_disk, up_collector_host_disk;

static double detail_of(const struct up_row *row, const char *key)
{
	double number = NAN;

	up_detail_get_number(row->detail, key, &number);
	return number;
}

static void devices_of_the_host(void **state)
{
	const struct up_row *row;
	struct rig rig;

	(void)state;
	rig_open(&rig, FIXTURES "host_disk", NULL, UP_NS_PER_S, "host_disk");
	rig_tick(&rig);
	rig_next(&rig);
	row = rig_row(&rig, "disk", "sda");
	assert_near(row->utilization.number, 0.25, 1e-9, "250 ms of 1 s");
	assert_near(row->saturation.number, 0.5, 1e-9, "500 weighted ms in 1 s");
	assert_near(detail_of(row, "reads_per_s"), 10, 1e-9, "10 reads");
	assert_near(detail_of(row, "read_bytes_per_s"), 80 * 512, 1e-9, "80 sectors");
	row = rig_row(&rig, "disk", "cciss/c0d0");
	assert_near(row->utilization.number, 1.0, 1e-9, "1000 ms over the wrap at 2^32, not 4.29e9");
	assert_near(row->saturation.number, 1.5, 1e-9, "1500 weighted ms over the wrap");
	assert_null(rig_row(&rig, "disk", "loop0"));
	assert_null(rig_row(&rig, "disk", "sda1"));
	rig_close(&rig);
	rig_open(&rig, FIXTURES "host_disk_cut", NULL, UP_NS_PER_S, "host_disk");
	rig_tick(&rig);
	assert_int_equal(rig_row(&rig, "disk", "host")->state, UP_FAILED);
	rig_close(&rig);
}

static void a_target(void **state)
{
	static const struct {
		const char *fixture;
		double read_bytes, write_bytes, stalled;
		const char *why;
	} cases[] = {
		{ "v2", 43008, 4096, 0.3, "glued device names" },
		{ "v2_none", 0, 0, 0, "an empty io.stat is a measured zero" },
		{ "v1", 4096, 8192, NAN, "blkio.throttle, no PSI of a group" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_row *row;
		char root[256];
		struct rig rig;

		snprintf(root, sizeof(root), FIXTURES "disk_%s", cases[i].fixture);
		rig_open(&rig, root, "api", UP_NS_PER_S, "disk");
		rig_tick(&rig);
		rig_next(&rig);
		row = rig_row(&rig, "disk", "/api");
		assert_near(detail_of(row, "read_bytes_per_s"), cases[i].read_bytes, 1e-9, cases[i].why);
		assert_near(detail_of(row, "write_bytes_per_s"), cases[i].write_bytes, 1e-9, cases[i].why);
		if (isnan(cases[i].stalled))
			assert_int_equal(row->saturation.state, UP_ABSENT);
		else
			assert_near(row->saturation.number, cases[i].stalled, 1e-9, cases[i].why);
		rig_close(&rig);
	}
}

/* "Total 0" stands there whatever a group wrote, until some group has a throttle limit: it is no measured zero. */
static void uncounted_on_v1_is_not_zero(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_disk, "disk_v1", FAKE_V1, "/api");
	for (int t = 0; t < 2; t++) {
		char path[96];

		snprintf(path, sizeof(path), "t%d/sys/fs/cgroup/blkio/api/blkio.throttle.io_service_bytes", t);
		fake_put(&fake, path, "Total 0\n");
		snprintf(path, sizeof(path), "t%d/sys/fs/cgroup/blkio/api/blkio.throttle.io_serviced", t);
		fake_put(&fake, path, "Total 0\n");
	}
	assert_int_equal(fake_tick(&fake, 1), 0);
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "disk", "/api");
	assert_int_equal(row->state, UP_ABSENT);
	assert_non_null(strstr(row->reason, "blkio.throttle"));
	fake_no_detail(row, "write_bytes_per_s");
	/* From the first line on the figures count from 0. */
	fake_put(&fake, "t1/sys/fs/cgroup/blkio/api/blkio.throttle.io_service_bytes", "8:0 Read 0\n8:0 Write 4096\nTotal 4096\n");
	assert_int_equal(fake_tick(&fake, 0.5), 0);
	fake_detail(fake_row(&fake, "disk", "/api"), "write_bytes_per_s", 8192);
	fake_done(&fake);
}

/* A file may be cut between two devices, which nobody can tell; inside a line it is an error. */
static void a_cut_line_is_an_error(void **state)
{
	static const struct {
		const char *text;
		bool fails;
	} cases[] = {
		{ "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n", false },
		{ "8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0", true },
		{ "8:0 rbytes=40", true },
		{ "8:0 rbytes=\n", true },
		{ "8:0 rbytes=x wbytes=0\n", true },
		{ "8:0 rbytes=99999999999999999999\n", true },
		{ "7:7 7:6 7:5 8:0 rbytes=4096 wbytes=0 rios=1 wios=0\n", false },
		{ "8:0 cost.usage=7 rbytes=4096 wbytes=0 rios=1 wios=0 use_delay=0 delay_nsec=0\n", false },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct fake fake;

		fake_init_copy(&fake, &up_collector_disk, "", FAKE_V2, "/api");
		fake_put(&fake, "t0/sys/fs/cgroup/api/io.stat", cases[i].text);
		if ((fake_tick(&fake, 1) < 0) != cases[i].fails)
			fail_msg("%s: %s", cases[i].text, fake.env.error);
		fake_done(&fake);
	}
}

#define KNOWN(x) ((struct up_u64){ .n = (x), .has = true })

/* 100 reads of 1 ms and 20 of 50 ms in the window; 19 writes of 2 ms; one of them failed. */
static void time_at_the_device(void **state)
{
	static uint64_t reads[2][UP_BLOCKS_BUCKETS], writes[UP_BLOCKS_BUCKETS];
	struct up_block_disk p = { .major = 8, .minor = 0 }, c = { .major = 8, .minor = 0 };
	struct disk_latency prev = { .disks = &p, .count = 1 }, cur = { .disks = &c, .count = 1 };
	struct up_detail detail = { 0 };
	double number;

	(void)state;
	reads[0][up_delay_bucket(9000000)] = reads[1][up_delay_bucket(9000000)] = 500; /* before the window */
	reads[1][up_delay_bucket(1000000)] = 100;
	reads[1][up_delay_bucket(50000000)] = 20;
	writes[up_delay_bucket(2000000)] = 19;
	p.read = (struct up_block_times){ KNOWN(500), KNOWN(0), KNOWN(4500000000), reads[0] };
	c.read = (struct up_block_times){ KNOWN(620), KNOWN(0), KNOWN(5600000000), reads[1] };
	p.write = (struct up_block_times){ KNOWN(0), KNOWN(0), KNOWN(0), writes };
	c.write = (struct up_block_times){ KNOWN(19), KNOWN(1), KNOWN(38000000), writes };
	assert_ptr_equal(disk_latency_find(&cur, 8, 0), &c);
	assert_null(disk_latency_find(&cur, 8, 16));
	disk_latency_describe(&detail, &cur, &prev, &p, &c);
	assert_true(up_detail_get_number(detail.text, "read_mean_ms", &number));
	assert_near(number, 1100.0 / 120, 1e-5, "1.1 s over 120 reads");
	assert_true(up_detail_get_number(detail.text, "read_p50_ms", &number));
	assert_near(number, 1, 0.07, "the window's reads, not those before");
	assert_true(up_detail_get_number(detail.text, "read_p99_ms", &number));
	assert_near(number, 50, 3.5, "a sixth takes 50 ms");
	assert_true(up_detail_get_number(detail.text, "write_mean_ms", &number));
	assert_near(number, 2, 1e-9, "38 ms over 19 writes");
	assert_false(up_detail_get_number(detail.text, "write_p99_ms", &number));
	fake_value(disk_latency_failed(true, &p, &c), UP_OK, 1, "one failed");
	fake_value(disk_latency_failed(true, NULL, &c), UP_OK, 1, "a disk that is new in the window had none before");
	assert_int_equal(disk_latency_failed(false, NULL, &c).state, UP_FIRST);
}

static void no_time_at_the_device_says_why(void **state)
{
	struct disk_latency refused = { .reason = "CAP_BPF is missing", .error = -EPERM };
	struct up_detail detail = { 0 };
	char text[64];
	struct rig rig;

	(void)state;
	disk_latency_describe(&detail, &refused, NULL, NULL, NULL);
	assert_true(up_detail_get(detail.text, "latency_state", text, sizeof(text)));
	assert_string_equal(text, "denied:CAP_BPF is missing");
	rig_open(&rig, FIXTURES "host_disk", NULL, UP_NS_PER_S, "host_disk");
	rig_tick(&rig);
	fake_detail_text(rig_row(&rig, "disk", "sda"), "latency_state", "absent:a recorded tree has no requests");
	assert_string_equal(rig_row(&rig, "disk", "sda")->method, "/proc/diskstats measured");
	assert_int_equal(rig_row(&rig, "disk", "sda")->errors.state, UP_ABSENT);
	rig_close(&rig);
}

static void every_prefix_is_an_error_or_right(void **state)
{
	(void)state;
	fake_sweep(&up_collector_host_disk, "host_disk", FAKE_V2, NULL, 2, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_of_the_host),
		cmocka_unit_test(a_target),
		cmocka_unit_test(uncounted_on_v1_is_not_zero),
		cmocka_unit_test(a_cut_line_is_an_error),
		cmocka_unit_test(time_at_the_device),
		cmocka_unit_test(no_time_at_the_device_says_why),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
