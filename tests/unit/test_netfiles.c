/* Tables of names and values: columns by name, prefixes of the text, negative values. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "useprobe/netfiles.h"

static const char text[] = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPReqQFullDrop\n"
			   "TcpExt: 3 21 22 0\n"
			   "Tcp: RtoAlgorithm MaxConn RetransSegs ListenDrops\n"
			   "Tcp: 1 -1 4294967296 5\n";

static int read_fields(
	const char *from, struct up_u64 *overflows, struct up_u64 *drops, struct up_u64 *max, struct up_u64 *retrans)
{
	const struct up_net_field fields[] = {
		{ "TcpExt", "ListenOverflows", overflows },
		{ "TcpExt", "ListenDrops", drops },
		{ "Tcp", "MaxConn", max },
		{ "Tcp", "RetransSegs", retrans },
	};

	*overflows = *drops = *max = *retrans = (struct up_u64){ 0 };
	return up_net_fields(from, fields, UP_COUNT(fields));
}

static void values_are_found_by_name(void **state)
{
	struct up_u64 overflows, drops, max, retrans;

	(void)state;
	assert_int_equal(read_fields(text, &overflows, &drops, &max, &retrans), 0);
	assert_true(overflows.has && overflows.n == 21);
	assert_true(drops.has && drops.n == 22); /* not the other prefix's */
	assert_false(max.has); /* -1 is "no limit" */
	assert_true(retrans.has && retrans.n == 4294967296);
}

static void malformed_text_fills_nothing(void **state)
{
	static const char *const wrong[] = {
		"TcpExt: ListenOverflows ListenDrops\nTcpExt: 1\n", /* a value is missing */
		"TcpExt: ListenOverflows\nTcpExt: 1 2\n",
		"TcpExt: ListenOverflows\nIpExt: 1\n",
		"TcpExt: ListenOverflows\n",
		"TcpExt: ListenOverflows\nTcpExt: x\n",
		"TcpExt: ListenOverflows\nTcpExt: 1x\n",
		"TcpExt ListenOverflows\nTcpExt 1\n",
		"TcpExt: ListenOverflows\nTcpExt: 1",
	};
	struct up_u64 overflows, drops, max, retrans;

	(void)state;
	for (size_t i = 0; i < UP_COUNT(wrong); i++) {
		assert_int_equal(read_fields(wrong[i], &overflows, &drops, &max, &retrans), -EBADMSG);
		assert_false(overflows.has);
	}
	assert_int_equal(read_fields("", &overflows, &drops, &max, &retrans), 0);
	assert_false(overflows.has || drops.has);
}

static void every_prefix_is_an_error_or_right(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < strlen(text); cut++) {
		struct up_u64 overflows, drops, max, retrans;
		char *copy = strndup(text, cut);

		if (read_fields(copy, &overflows, &drops, &max, &retrans) == 0) {
			assert_true(!overflows.has || overflows.n == 21);
			assert_true(!drops.has || drops.n == 22);
			assert_false(retrans.has);
		}
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_found_by_name),
		cmocka_unit_test(malformed_text_fills_nothing),
		cmocka_unit_test(every_prefix_is_an_error_or_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
