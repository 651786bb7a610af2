/* ports, conntrack and host_tcp_memory on recorded trees; the sysctls behind them. */
#include <errno.h>
#include <stdlib.h>

#include "fake.h"
#include "useprobe/netfiles.h"
#include "useprobe/netlimits.h"

extern const struct up_collector up_collector_host_ports, up_collector_host_conntrack, up_collector_host_tcp_memory;

static void two_ticks(struct fake *fake, const struct up_collector *collector, const char *fixture)
{
	fake_init_copy(fake, collector, fixture, FAKE_V2, NULL);
	assert_int_equal(fake_tick(fake, 1), 0);
	assert_int_equal(fake_tick(fake, 1), 0);
}

static void time_wait(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	two_ticks(&fake, &up_collector_host_ports, "host_ports");
	row = fake_row(&fake, "time-wait", "host");
	fake_value(row->utilization, UP_OK, 0.25, "250 of 1000");
	fake_value(row->errors, UP_OK, 7, "overflows");
	fake_detail(row, "time_wait", 250);
	row = fake_row(&fake, "ports", "host");
	fake_absent(row->utilization, "recorded tree", "sockets are not files");
	fake_detail(row, "range_ports", 28232 - 101);
	fake_detail_text(row, "time_wait_reuse", "on loopback");
	fake_done(&fake);

	fake_init_copy(&fake, &up_collector_host_ports, "host_ports", FAKE_V2, NULL);
	fake_remove(&fake, "t0/proc/sys/net/ipv4/tcp_max_tw_buckets");
	assert_int_equal(fake_tick(&fake, 1), 0);
	row = fake_row(&fake, "time-wait", "host");
	fake_absent(row->utilization, "tcp_max_tw_buckets", "no limit");
	fake_value(row->errors, UP_FIRST, 0, "one sample");
	fake_done(&fake);
	fake_init_copy(&fake, &up_collector_host_ports, "host_ports", FAKE_V2, NULL);
	fake_put(&fake, "t0/proc/self/net/sockstat", "TCP: inuse 1 tw\n");
	assert_int_equal(fake_tick(&fake, 1), -EBADMSG);
	fake_done(&fake);
}

static void conntrack_is_full(void **state)
{
	static const char *const fixtures[] = { "conntrack_new", "conntrack_old" };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(fixtures); i++) {
		const struct up_row *row;
		struct fake fake;

		two_ticks(&fake, &up_collector_host_conntrack, fixtures[i]);
		row = fake_row(&fake, "conntrack", "host");
		fake_value(row->utilization, UP_OK, 1, "65536 of 65536");
		fake_value(row->errors, UP_OK, 29, "25 dropped, 4 not inserted");
		fake_value(row->saturation, UP_OK, 10, "evicted, over the wrap");
		fake_detail(row, "drops", 25);
		fake_detail(row, "connections_max", 65536);
		fake_done(&fake);
	}
}

static void conntrack_is_not_there(void **state)
{
	struct fake fake;

	(void)state;
	fake_init_copy(&fake, &up_collector_host_conntrack, "conntrack_new", FAKE_V2, NULL);
	fake_remove(&fake, "t0/proc/sys/net/netfilter");
	assert_int_equal(fake_tick(&fake, 1), -ENOENT);
	assert_non_null(strstr(fake.env.error, "not loaded"));
	fake_done(&fake);
	/* Without the counters the fill level still stands. */
	fake_init_copy(&fake, &up_collector_host_conntrack, "conntrack_new", FAKE_V2, NULL);
	fake_remove(&fake, "t0/proc/self/net/stat/nf_conntrack");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_value(fake_row(&fake, "conntrack", "host")->utilization, UP_OK, 50000.0 / 65536, "level");
	fake_absent(fake_row(&fake, "conntrack", "host")->errors, "stat/nf_conntrack", "no counters");
	fake_done(&fake);
	fake_init_copy(&fake, &up_collector_host_conntrack, "conntrack_new", FAKE_V2, NULL);
	fake_put(&fake, "t1/proc/sys/net/netfilter/nf_conntrack_max", "0\n");
	fake_put(&fake, "t0/proc/self/net/stat/nf_conntrack", "entries drop\n00000001 0000000g\n");
	assert_int_equal(fake_tick(&fake, 1), -EBADMSG);
	fake_put(&fake, "t1/proc/self/net/stat/nf_conntrack", "entries drop\n00000001 00000002\n");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_absent(fake_row(&fake, "conntrack", "host")->utilization, "no limit", "a limit of 0 is none");
	fake_absent(fake_row(&fake, "conntrack", "host")->saturation, "not counted", "no such column");
	fake_done(&fake);
}

static void tcp_memory(void **state)
{
	const struct up_row *row;
	struct fake fake;

	(void)state;
	two_ticks(&fake, &up_collector_host_tcp_memory, "host_tcp_memory");
	row = fake_row(&fake, "tcp-memory", "host");
	fake_value(row->utilization, UP_OK, 0.75, "12000 of 16000 pages");
	fake_value(row->saturation, UP_OK, 1.2, "12000 of 10000 pages");
	fake_value(row->errors, UP_OK, 2, "aborts");
	fake_detail(row, "orphans", 3);
	fake_detail(row, "pruned", 6);
	fake_done(&fake);
	/* A network namespace of its own has no tcp_mem. */
	fake_init_copy(&fake, &up_collector_host_tcp_memory, "host_tcp_memory", FAKE_V2, NULL);
	fake_remove(&fake, "t0/proc/sys/net/ipv4/tcp_mem");
	assert_int_equal(fake_tick(&fake, 1), 0);
	fake_absent(fake_row(&fake, "tcp-memory", "host")->utilization, "tcp_mem", "no limit");
	fake_done(&fake);
}

static void every_prefix(void **state)
{
	(void)state;
	/* A sysctl is one line, so the newline is all that tells a cut one; a reserved list of 0 bytes is not there. */
	fake_sweep(&up_collector_host_ports, "host_ports", FAKE_V2, NULL, 2, "ip_local_reserved_ports");
	fake_sweep(&up_collector_host_conntrack, "conntrack_new", FAKE_V2, NULL, 2, NULL);
	fake_sweep(&up_collector_host_tcp_memory, "host_tcp_memory", FAKE_V2, NULL, 2, NULL);
}

static void ranges_and_reserved_ports(void **state)
{
	static const struct {
		const char *range, *reserved;
		bool has;
		uint64_t ports;
	} cases[] = {
		{ "32768\t60999\n", "\n", true, 28232 },
		{ "32768\t60999\n", NULL, true, 28232 },
		{ "1\t65535\n", "1,3-5,65535\n", true, 65530 },
		{ "1000\t1099\n", "80,8080,1090-2000\n", true, 90 },
		{ "1000\t1099\n", "1000-1099\n", true, 0 },
		{ "1000\t1099", "\n", false, 0 },
		{ "1000\t109\n", "\n", false, 0 },
		{ "1000\n", "\n", false, 0 },
		{ "1000\t65536\n", "\n", false, 0 },
		{ "1000\t1099\n", "10-\n", false, 0 },
		{ "1000\t1099\n", "1090-1080\n", false, 0 },
		{ "1000\t1099\n", "1090", false, 0 },
		{ NULL, "\n", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const char *texts[UP_NETLIMIT_COUNT] = { cases[i].range, cases[i].reserved };
		struct up_netlimits limits;

		up_netlimits_parse(texts, &limits);
		assert_int_equal(limits.ports.has, cases[i].has);
		assert_int_equal(limits.ports.n, cases[i].ports);
		assert_false(limits.conntrack_max.has);
		assert_false(up_netlimits_is_ephemeral(&limits, 0));
	}
}

static void sockstat_lines(void **state)
{
	struct up_u64 used = { 0 }, mem = { 0 };
	const struct up_net_field fields[] = { { "sockets", "used", &used }, { "UDP", "mem", &mem } };

	(void)state;
	assert_int_equal(up_net_sockstat("sockets: used 291\nTCP: inuse 2 mem 9\nUDP: inuse 1 mem 62\n", fields, 2), 0);
	assert_true(used.has && used.n == 291 && mem.n == 62);
	assert_int_equal(up_net_sockstat("sockets: used\n", fields, 2), -EBADMSG);
	assert_int_equal(up_net_sockstat("sockets: used x\n", fields, 2), -EBADMSG);
	assert_int_equal(up_net_sockstat("sockets: used 1", fields, 2), -EBADMSG);
	assert_int_equal(up_net_sockstat("sockets\n", fields, 2), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_wait),
		cmocka_unit_test(conntrack_is_full),
		cmocka_unit_test(conntrack_is_not_there),
		cmocka_unit_test(tcp_memory),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(ranges_and_reserved_ports),
		cmocka_unit_test(sockstat_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
