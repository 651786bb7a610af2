/* The delay service without BPF: parsers, the ledger's sums over owners that come and go, the histogram. */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/source/delay_internal.h"
#include "check.h"

/* An answer as the kernel lays it out: message, generic head, aggregate { pid, stats }. STATS_BYTES of the struct are sent. */
static size_t answer_build(uint8_t *answer, const struct taskstats *stats, size_t stats_bytes)
{
	const uint32_t pid = 7;
	const size_t inner = NLA_HDRLEN + 4 + NLA_HDRLEN + NLA_ALIGN(stats_bytes);
	struct nlmsghdr message = { .nlmsg_type = 27, .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_HDRLEN + inner) };
	struct nlattr group = { .nla_type = TASKSTATS_TYPE_AGGR_TGID, .nla_len = (uint16_t)(NLA_HDRLEN + inner) };
	struct nlattr id = { .nla_type = TASKSTATS_TYPE_TGID, .nla_len = NLA_HDRLEN + 4 };
	struct nlattr body = { .nla_type = TASKSTATS_TYPE_STATS, .nla_len = (uint16_t)(NLA_HDRLEN + stats_bytes) };
	uint8_t *at = answer;

	memset(answer, 0, message.nlmsg_len);
	memcpy(at, &message, sizeof(message));
	at += NLMSG_HDRLEN + GENL_HDRLEN;
	memcpy(at, &group, sizeof(group));
	at += NLA_HDRLEN;
	memcpy(at, &id, sizeof(id));
	memcpy(at + NLA_HDRLEN, &pid, sizeof(pid));
	at += NLA_HDRLEN + 4;
	memcpy(at, &body, sizeof(body));
	memcpy(at + NLA_HDRLEN, stats, stats_bytes);
	return message.nlmsg_len;
}

static void taskstats_answers(void **state)
{
	static const struct {
		size_t bytes;
		int want;
		const char *why;
	} cases[] = {
		{ sizeof(struct taskstats), 0, "the struct of our headers" },
		{ offsetof(struct taskstats, ac_comm), 0, "version 1, the oldest" },
		{ offsetof(struct taskstats, cpu_run_virtual_total), -EBADMSG, "too short for the CPU figures" },
	};
	const struct taskstats stats = { .cpu_count = 11, .cpu_delay_total = 4008, .cpu_run_virtual_total = 2005 };
	uint8_t answer[2048];
	struct up_taskstats got;

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const size_t len = answer_build(answer, &stats, cases[i].bytes);

		memset(&got, 0, sizeof(got));
		if (up_taskstats_parse(answer, len, &got) != cases[i].want)
			fail_msg("%s", cases[i].why);
		if (cases[i].want == 0 && (got.cpu_count != 11 || got.cpu_delay_ns != 4008 || got.cpu_run_ns != 2005))
			fail_msg("%s: wrong figures", cases[i].why);
		/* A cut answer is an error whatever its head says. */
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(up_taskstats_parse(answer, cut, &got), -EBADMSG);
	}
}

/* Lengths inside the message that lie: never a read past the end (the sanitizer watches), never a number. */
static void taskstats_lying_lengths(void **state)
{
	const struct taskstats stats = { .cpu_count = 11 };
	uint8_t answer[2048], *exact;
	const size_t len = answer_build(answer, &stats, sizeof(stats));
	struct up_taskstats got;

	(void)state;
	for (size_t at = 0; at < 48; at++) {
		for (int value = 0; value < 256; value += 51) {
			exact = malloc(len);
			assert_non_null(exact);
			memcpy(exact, answer, len);
			exact[at] = (uint8_t)value;
			const int r = up_taskstats_parse(exact, len, &got);

			assert_true(r <= 0);
			free(exact);
		}
	}
}

static void taskstats_kernel_errors(void **state)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr body;
	} refusal = { .head = { .nlmsg_type = NLMSG_ERROR, .nlmsg_len = sizeof(refusal) }, .body = { .error = -EPERM } };
	struct up_taskstats got;
	uint16_t family;

	(void)state;
	assert_int_equal(up_taskstats_parse(&refusal, sizeof(refusal), &got), -EPERM);
	assert_int_equal(up_taskstats_parse_family(&refusal, sizeof(refusal), &family), -EPERM);
	refusal.body.error = 5; /* no errno */
	assert_int_equal(up_taskstats_parse(&refusal, sizeof(refusal), &got), -EBADMSG);
}

static void task_files(void **state)
{
	static const char host[] =
		"version 15\ntimestamp 4295\ncpu0 0 0 9 1 4 2 1000 300 7\ndomain0 3 1 2\ncpu1 0 0 9 1 4 2 500 40 6\n";
	static const char stat[] =
		"42 (a) b) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777123 1048576 10 18446744073709551615\n";
	uint64_t got[UP_LEDGER_COUNTERS], start;

	(void)state;
	assert_int_equal(up_delay_parse_task("9873542 118432 57\n", got), 0);
	assert_true(got[0] == 118432 && got[1] == 9873542 && got[2] == 57);
	assert_int_equal(up_delay_parse_task("9873542 118432 5", got), -EBADMSG);
	assert_int_equal(up_delay_parse_task("-1 2 3\n", got), -EBADMSG);
	assert_int_equal(up_delay_parse_host(host, got), 0);
	assert_true(got[0] == 340 && got[1] == 1500 && got[2] == 13);
	assert_int_equal(up_delay_parse_start(stat, &start), 0);
	assert_true(start == 777123);
	for (size_t cut = 0; cut < sizeof(host) - 1; cut++) {
		char text[sizeof(host)] = { 0 };

		memcpy(text, host, cut);
		/* A prefix that ends with a whole first CPU is a smaller machine's file; anything else must be refused. */
		if (up_delay_parse_host(text, got) == 0)
			assert_true(text[cut - 1] == '\n' && got[1] == 1000);
	}
	for (size_t cut = 0; cut < sizeof(stat) - 1; cut++) {
		char text[sizeof(stat)] = { 0 };

		memcpy(text, stat, cut);
		if (up_delay_parse_start(text, &start) == 0)
			assert_true(start == 777123);
	}
}

static void ledger_step(
	struct up_ledger *ledger, const struct up_ledger_item *items, size_t count, uint64_t wait, const char *why)
{
	struct up_ledger_item copy[8];
	uint64_t sum[UP_LEDGER_COUNTERS];

	if (count)
		memcpy(copy, items, count * sizeof(*items));
	assert_int_equal(up_ledger_update(ledger, copy, count, sum), 0);
	if (sum[0] != wait)
		fail_msg("%s: %llu, expected %llu", why, (unsigned long long)sum[0], (unsigned long long)wait);
}

static void ledger_keeps_what_left(void **state)
{
	struct up_ledger ledger = { 0 };

	(void)state;
	ledger_step(&ledger, (struct up_ledger_item[]){ { 9, false, { 500, 1, 1 } }, { 4, false, { 1000, 1, 1 } } }, 2, 0,
		"history from before the first look is not ours");
	ledger_step(&ledger, (struct up_ledger_item[]){ { 4, false, { 1007, 1, 1 } }, { 9, false, { 511, 1, 1 } } }, 2, 18,
		"both grew");
	ledger_step(&ledger, (struct up_ledger_item[]){ { 9, false, { 512, 1, 1 } }, { 5, true, { 30, 1, 1 } } }, 2, 49,
		"4 left and stays counted, 5 was born since");
	assert_int_equal(ledger.left, 1);
	ledger_step(&ledger,
		(struct up_ledger_item[]){ { 9, false, { 512, 1, 1 } }, { 5, false, { 30, 1, 1 } }, { 6, false, { 900, 1, 1 } } },
		3, 49, "6 moved in with a life of its own");
	ledger_step(&ledger, (struct up_ledger_item[]){ { 9, false, { 3, 2, 2 } }, { 5, false, { 30, 1, 1 } } }, 2, 52,
		"9 is another process under a reused pid; 6 left without having added");
	ledger_step(&ledger, (struct up_ledger_item[]){ { 9, false, { 4, 2, 2 } }, { 9, false, { 4, 2, 2 } } }, 2, 53,
		"listed twice");
	ledger_step(&ledger, NULL, 0, 53, "all gone");
	assert_false(up_ledger_knows(&ledger, 9));
	up_ledger_done(&ledger);
}

static void buckets_and_percentiles(void **state)
{
	uint64_t prev[UP_DELAY_BUCKETS] = { 0 }, cur[UP_DELAY_BUCKETS] = { 0 };

	(void)state;
	for (unsigned bucket = 0; bucket < UP_DELAY_BUCKETS; bucket++) {
		const double low = up_delay_bucket_ns(bucket);

		assert_int_equal(up_delay_bucket((uint64_t)low), bucket);
		if (bucket + 1 < UP_DELAY_BUCKETS)
			assert_int_equal(up_delay_bucket((uint64_t)up_delay_bucket_ns(bucket + 1) - 1), bucket);
		if (bucket >= 8 && bucket + 1 < UP_DELAY_BUCKETS)
			assert_true(up_delay_bucket_ns(bucket + 1) / low <= 1.125 + 1e-9);
	}
	assert_int_equal(up_delay_bucket(UINT64_MAX), UP_DELAY_BUCKETS - 1);
	assert_true(isnan(up_delay_percentile_ns(prev, cur, 95)));
	prev[0] = 1000;
	cur[0] = 1000 + 94; /* 94 that did not queue, six of 10 ms: the 95th of 100 is the first of the six */
	cur[up_delay_bucket(10000000)] = 6;
	assert_near(up_delay_percentile_ns(prev, cur, 50), 0, 0, "p50");
	assert_near(up_delay_percentile_ns(prev, cur, 95), 10e6, 0.63e6, "p95");
	cur[0]++;
	assert_near(up_delay_percentile_ns(prev, cur, 94), 0, 0, "95 of 101 did not queue");
}

/* A recorded tree with one process of two threads, one of which ends; the other grows by 250 ms. */
static void write_file(const char *top, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *slash = strchr(path + strlen(top) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void schedstat_per_thread(void **state)
{
	char top[] = "/tmp/up-delay-XXXXXX", command[64];
	struct up_delay_account account = { 0 };
	struct up_source source;
	struct up_arena arena;
	const pid_t pids[] = { 70, 99 }; /* 99 ended between the list and the look */

	(void)state;
	assert_non_null(mkdtemp(top));
	write_file(top, "proc/uptime", "100.00 50.00\n");
	write_file(top, "proc/70/task/70/schedstat", "5 1000000 3\n");
	write_file(top, "proc/70/task/71/schedstat", "5 2000000 3\n");
	assert_int_equal(up_source_open(&source, top), 0);
	assert_int_equal(up_arena_init(&arena), 0);
	assert_int_equal(up_delay_read_schedstat(&account, &source, &arena, pids, 2), 0);
	assert_true(account.sample.wait_ns.n == 0 && account.sample.lower_bound);
	write_file(top, "proc/70/task/70/schedstat", "5 251000000 4\n");
	snprintf(command, sizeof(command), "rm -r %s/proc/70/task/71", top);
	assert_int_equal(system(command), 0);
	write_file(top, "proc/70/task/72/schedstat", "5 7 1\n"); /* born at 100.5 s */
	write_file(top, "proc/70/task/72/stat", "72 (w) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 10050 0 0\n");
	assert_int_equal(up_delay_read_schedstat(&account, &source, &arena, pids, 2), 0);
	assert_true(account.sample.wait_ns.n == 250000007 && account.sample.waits.n == 2);
	write_file(top, "proc/70/task/70/schedstat", "0 0 0\n");
	write_file(top, "proc/70/task/72/schedstat", "0 0 0\n");
	assert_int_equal(up_delay_read_schedstat(&account, &source, &arena, pids, 2), -ENOENT);
	write_file(top, "proc/70/task/70/schedstat", "0 0");
	assert_int_equal(up_delay_read_schedstat(&account, &source, &arena, pids, 2), -EBADMSG);
	up_ledger_done(&account.ledger);
	up_arena_done(&arena);
	up_source_close(&source);
	snprintf(command, sizeof(command), "rm -r %s", top);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taskstats_answers),
		cmocka_unit_test(taskstats_lying_lengths),
		cmocka_unit_test(taskstats_kernel_errors),
		cmocka_unit_test(task_files),
		cmocka_unit_test(ledger_keeps_what_left),
		cmocka_unit_test(buckets_and_percentiles),
		cmocka_unit_test(schedstat_per_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
