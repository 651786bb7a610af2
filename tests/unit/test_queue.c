/* What --queue accepts, where functions are found, when a queue is known to be empty, and the row. The programs behind them are tested live
 * (tests/live/queue.sh). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../src/collect/queue_row.h"
#include "../../src/source/elf_functions.h"
#include "../../src/source/queues_internal.h"
#include "check.h"
#include "fake.h"

#define S 1000000000ull
#define KNOWN(x) ((struct up_u64){ .n = (x), .has = true })

extern const struct up_collector up_collector_queue;
void queue_test_found(void);

/* Something to look for in our own symbol table. */
void queue_test_found(void)
{
	__asm__ volatile("");
}

static void arguments(void **state)
{
	static const struct {
		const char *text, *name, *binary, *put, *take;
		enum up_queue_when when;
		const char *expected; /* part of the message; NULL = accepted */
	} cases[] = {
		{ "jobs=/srv/app:push,pop", "jobs", "/srv/app", "push", "pop", UP_QUEUE_AT_ENTRY, NULL },
		{ "jobs=/srv/a:b:push,pop@return", "jobs", "/srv/a:b", "push", "pop", UP_QUEUE_AT_RETURN, NULL },
		{ "q=/a:_ZN1Q4pushEi,_ZN1Q3popEv@nonnull", "q", "/a", "_ZN1Q4pushEi", "_ZN1Q3popEv", UP_QUEUE_AT_NONNULL, NULL },
		{ "q=/a:push,run@begin", "q", "/a", "push", "run", UP_QUEUE_AT_BEGIN, NULL },
		{ "q=/a:main.(*Q).Push,main.(*Q).Pop", "q", "/a", "main.(*Q).Push", "main.(*Q).Pop", UP_QUEUE_AT_ENTRY, NULL },
		{ .text = "", .expected = "NAME=BINARY" },
		{ .text = "libuv2", .expected = "NAME=BINARY" },
		{ .text = "jobs=/srv/app", .expected = "two functions" },
		{ .text = "jobs=/srv/app:push", .expected = "two functions" },
		{ .text = "jobs=/srv/app:a,b,c", .expected = "two functions" },
		{ .text = "=/srv/app:a,b", .expected = "a NAME" },
		{ .text = "a\nb=/srv/app:a,b", .expected = "a NAME" },
		{ .text = "jobs=app:a,b", .expected = "absolute path" },
		{ .text = "jobs=:a,b", .expected = "absolute path" },
		{ .text = "jobs=/srv/app:,b", .expected = "puts in" },
		{ .text = "jobs=/srv/app:a,", .expected = "takes out" },
		{ .text = "jobs=/srv/app:a,@return", .expected = "takes out" },
		{ .text = "jobs=/srv/app:a,b@exit", .expected = "@begin, @return or @nonnull" },
		{ .text = "jobs=/srv/app:a,b@", .expected = "@begin, @return or @nonnull" },
		{ .text = "jobs=/srv/app:a,b c", .expected = "without blanks" },
		{ .text = "jobs=/srv/app:a,a@return", .expected = "two different" },
	};
	char message[256];

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_queue_spec spec = { 0 };
		const int r = up_queue_spec_parse(cases[i].text, &spec, message, sizeof(message));

		if (cases[i].expected) {
			if (r == 0 || !strstr(message, cases[i].expected))
				fail_msg("'%s': %d '%s'", cases[i].text, r, message);
			continue;
		}
		if (r < 0)
			fail_msg("'%s': %s", cases[i].text, message);
		assert_string_equal(spec.name, cases[i].name);
		assert_string_equal(spec.binary, cases[i].binary);
		assert_string_equal(spec.put.symbol, cases[i].put);
		assert_string_equal(spec.take.symbol, cases[i].take);
		assert_int_equal(spec.take.when, cases[i].when);
	}
}

static void too_long_is_refused(void **state)
{
	struct up_queue_spec spec;
	char message[256], text[2048];

	(void)state;
	memset(text, 'n', sizeof(text));
	memcpy(text + UP_QUEUE_NAME, "=/a:b,c", 8);
	assert_int_equal(up_queue_spec_parse(text, &spec, message, sizeof(message)), -22);
	assert_int_equal(up_queue_spec_parse(text + 1, &spec, message, sizeof(message)), 0);
	memset(text, 's', sizeof(text));
	memcpy(text, "q=/a:b,", 7);
	text[7 + UP_QUEUE_SYMBOL] = '\0';
	assert_int_equal(up_queue_spec_parse(text, &spec, message, sizeof(message)), -22);
	text[7 + UP_QUEUE_SYMBOL - 1] = '\0';
	assert_int_equal(up_queue_spec_parse(text, &spec, message, sizeof(message)), 0);
}

static void steps_of_first_instructions(void **state)
{
	static const struct {
		uint8_t code[8];
		size_t len;
		enum up_probe_step step;
		const char *why;
	} cases[] = {
		{ { 0x55 }, 1, UP_STEP_EMULATED, "push %rbp" },
		{ { 0x41, 0x57 }, 2, UP_STEP_EMULATED, "push %r15" },
		{ { 0x90 }, 1, UP_STEP_EMULATED, "nop" },
		{ { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 5, UP_STEP_EMULATED, "nop of five bytes" },
		{ { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 6, UP_STEP_EMULATED, "nop of six bytes" },
		{ { 0xe8, 0, 0, 0, 0 }, 5, UP_STEP_EMULATED, "call" },
		{ { 0x48, 0x83, 0xec, 0x08 }, 4, UP_STEP_SINGLE, "sub $8,%rsp" },
		{ { 0x48, 0x8d, 0x7f, 0xa8 }, 4, UP_STEP_SINGLE, "lea -88(%rdi),%rdi" },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, UP_STEP_SINGLE, "endbr64" },
		{ { 0xc3 }, 1, UP_STEP_SINGLE, "ret" },
		{ { 0x48 }, 1, UP_STEP_UNKNOWN, "cut behind a prefix" },
		{ { 0 }, 0, UP_STEP_UNKNOWN, "nothing" },
	};
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55 };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++)
		if (up_elf_step_x86(cases[i].code, cases[i].len) != cases[i].step)
			fail_msg("%s: %d", cases[i].why, up_elf_step_x86(cases[i].code, cases[i].len));
	assert_int_equal(up_elf_endbr_bytes(endbr, 5), 4);
	assert_int_equal(up_elf_endbr_bytes(endbr, 3), 0);
	assert_int_equal(up_elf_endbr_bytes(endbr + 4, 1), 0);
}

static void functions_of_a_file(void **state)
{
	struct up_elf_function functions[] = { { .symbol = "queue_test_found" }, { .symbol = "no_such_function" } };
	struct up_elf_facts facts;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(up_elf_functions_find(fd, functions, UP_COUNT(functions), &facts), 0);
	assert_true(functions[0].offset > 0);
	assert_false(functions[0].ambiguous);
	assert_true(functions[1].offset == 0);
	assert_true(facts.symbols);
	assert_false(facts.go);
	close(fd);
	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_int_equal(up_elf_functions_find(fd, functions, UP_COUNT(functions), &facts), -ENOEXEC);
	close(fd);
}

/* Cut anywhere, the file is refused or the function found where it is. */
static void every_cut_of_a_file(void **state)
{
	char path[] = "/tmp/useprobe-test-elf-XXXXXX";
	struct up_elf_function whole = { .symbol = "queue_test_found" };
	struct up_elf_facts facts;
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = mkstemp(path);
	const off_t size = lseek(in, 0, SEEK_END);
	char *bytes = malloc((size_t)size);

	(void)state;
	assert_int_equal(pread(in, bytes, (size_t)size, 0), size);
	assert_int_equal(write(out, bytes, (size_t)size), size);
	assert_int_equal(up_elf_functions_find(out, &whole, 1, &facts), 0);
	for (off_t cut = size - 1; cut > 0; cut -= size / 97) {
		struct up_elf_function function = { .symbol = "queue_test_found" };

		assert_int_equal(ftruncate(out, cut), 0);
		if (up_elf_functions_find(out, &function, 1, &facts) == 0 && function.offset && function.offset != whole.offset)
			fail_msg("cut at %lld: %llx, not %llx", (long long)cut, (unsigned long long)function.offset,
				(unsigned long long)whole.offset);
	}
	free(bytes);
	close(in);
	close(out);
	unlink(path);
}

static void when_it_was_empty(void **state)
{
	static const struct {
		enum up_queue_kind kind;
		enum up_queue_when when;
		struct up_queue_slot slot;
		enum up_queue_zero zero;
		int64_t base;
		const char *why;
	} cases[] = {
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_RETURN, { .process_ns = 9 * S }, UP_ZERO_START, 0, "younger than the probes" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_RETURN, { .process_ns = 9 * S, .lowest = -1 }, UP_ZERO_BROKEN, 0, "but -1" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_RETURN, { .lowest = 0 }, UP_ZERO_AMBIGUOUS, 0, "first returns go unseen" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_ENTRY, { .lowest = 0 }, UP_ZERO_AMBIGUOUS, 0, "may wait inside" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_ENTRY, { .lowest = -4 }, UP_ZERO_AMBIGUOUS, -4, "waits inside, or items" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_BEGIN, { .lowest = -4 }, UP_ZERO_UNKNOWN, -4, "items of before" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_NONNULL, { .lowest = -4 }, UP_ZERO_UNKNOWN, -4, "items of before" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_NONNULL, { .inside = 1 }, UP_ZERO_AMBIGUOUS, 0, "it does wait" },
		{ UP_QUEUE_FUNCTIONS, UP_QUEUE_AT_NONNULL, { .longest_ns = S }, UP_ZERO_AMBIGUOUS, 0, "it did wait" },
		{ UP_QUEUE_LIBUV, UP_QUEUE_AT_ENTRY, { .taken = 1, .cancelled = 1 }, UP_ZERO_UNKNOWN, 0, "known items only" },
		{ UP_QUEUE_LIBUV, UP_QUEUE_AT_ENTRY, { .taken = 2, .cancelled = 1 }, UP_ZERO_ORDER, 0, "one went all the way" },
	};
	const struct up_queue_slot quiet = { 0 }, waiting = { .inside = 1 };
	const struct up_queue_spec nonnull = { .take.when = UP_QUEUE_AT_NONNULL };
	struct queue_zero zero = { 0 };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const struct up_queue_spec spec = { .kind = cases[i].kind, .take.when = cases[i].when };

		zero = (struct queue_zero){ 0 };
		queue_zero_learn(&zero, &cases[i].slot, &spec, 8 * S);
		if (zero.kind != cases[i].zero || zero.base != cases[i].base)
			fail_msg("case %zu, %s: %s", i, cases[i].why, up_queue_zero_name(zero.kind));
	}
	/* Once seen to wait it is not believed again. */
	zero = (struct queue_zero){ 0 };
	queue_zero_learn(&zero, &waiting, &nonnull, 8 * S);
	queue_zero_learn(&zero, &quiet, &nonnull, 8 * S);
	assert_int_equal(zero.kind, UP_ZERO_AMBIGUOUS);
}

static struct up_queue_sample sample(uint64_t mono_ns, uint64_t area_ns, uint64_t put, uint64_t taken)
{
	return (struct up_queue_sample){
		.name = "app[7]/jobs",
		.zero = UP_ZERO_START,
		.mono_ns = KNOWN(mono_ns),
		.area_ns = area_ns,
		.put = KNOWN(put),
		.taken = KNOWN(taken),
		.highest = 9,
		.put_cost_ns = 600,
		.take_cost_ns = 9400,
		.slow = "job_run",
	};
}

static const struct up_row *row_of(struct up_rows *rows, const struct up_queue_sample *p, const struct up_queue_sample *c)
{
	up_rows_clear(rows);
	queue_add_row("api", p, c, rows);
	assert_int_equal(rows->count, 1);
	return &rows->items[0];
}

static void the_row(void **state)
{
	/* 14 item-seconds and 100 items out in 2 s. */
	struct up_queue_sample p = sample(5 * S, 3 * S, 1000, 997), c = sample(7 * S, 17 * S, 1102, 1097);
	const struct up_row *row;
	struct up_rows rows;

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	row = row_of(&rows, &p, &c);
	fake_value(row->waiting, UP_OK, 7, "14 s in 2 s");
	fake_value(row->saturation, UP_OK, 9, "the highest");
	assert_string_equal(row->method, "uprobes measured");
	fake_detail(row, "enqueues_per_s", 51);
	fake_detail(row, "dequeues_per_s", 50);
	fake_detail(row, "mean_wait_ms", 140);
	fake_detail(row, "probe_cost_ratio", (102 * 600 + 100 * 9400) / 2e9);
	fake_detail_text(row, "single_stepped", "job_run");
	fake_detail_text(row, "empty_known_by", "process start");
	assert_string_equal(row->target, "api");

	row = row_of(&rows, NULL, &c);
	assert_int_equal(row->waiting.state, UP_FIRST);
	assert_int_equal(row->state, UP_FIRST);

	/* Arrivals and departures differ: bounds of the wait. */
	c.put = KNOWN(1140);
	row = row_of(&rows, &p, &c);
	fake_no_detail(row, "mean_wait_ms");
	fake_detail(row, "wait_ms_low", 100);
	fake_detail(row, "wait_ms_high", 140);
	up_rows_done(&rows);
}

static void the_row_of_a_bound(void **state)
{
	struct up_queue_sample p = sample(5 * S, (uint64_t)-3 * S, 100, 100), c = sample(7 * S, (uint64_t)-5 * S, 200, 200);
	const struct up_row *row;
	struct up_rows rows;

	(void)state;
	assert_int_equal(up_rows_init(&rows), 0);
	p.zero = c.zero = UP_ZERO_UNKNOWN;
	p.base = -2;
	c.base = -4; /* lowest level: found during the window, meant for all of it */
	row = row_of(&rows, &p, &c);
	fake_value(row->waiting, UP_OK, 3, "-1 on average, 4 above the lowest");
	assert_string_equal(row->method, "uprobes lower bound");
	fake_detail(row, "mean_wait_ms_at_least", 60);
	c.zero = UP_ZERO_AMBIGUOUS;
	row = row_of(&rows, &p, &c);
	fake_absent(row->waiting, "@begin", "a number would be a guess");
	fake_absent(row->saturation, "@begin", "nor a maximum");
	fake_detail(row, "dequeues_per_s", 50);
	c.zero = UP_ZERO_BROKEN;
	row = row_of(&rows, &p, &c);
	fake_absent(row->waiting, "more items came out", "contradiction");
	up_rows_done(&rows);
}

static void a_recorded_tree_says_why(void **state)
{
	static const struct up_setting settings[] = { { "queue", "jobs=/srv/app:push,pop" } };
	char reason[128];
	struct up_queue_spec spec;
	struct up_queues *queues;
	struct fake fake;

	(void)state;
	fake_init(&fake, &up_collector_queue, "cpu_v2_own", FAKE_V2, "/api");
	assert_int_equal(up_queue_spec_parse(settings[0].value, &spec, reason, sizeof(reason)), 0);
	assert_int_equal(up_queues_new(&fake.source, &fake.targets, &spec, 1, &queues, reason, sizeof(reason)), -EOPNOTSUPP);
	assert_non_null(strstr(reason, "recorded tree"));
	fake.env.queues_reason = reason;
	fake.env.queues_error = -EOPNOTSUPP;
	assert_int_equal(fake_tick(&fake, 1), -EOPNOTSUPP);
	assert_non_null(strstr(fake.env.error, "recorded tree"));
	fake_done(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(too_long_is_refused),
		cmocka_unit_test(steps_of_first_instructions),
		cmocka_unit_test(functions_of_a_file),
		cmocka_unit_test(every_cut_of_a_file),
		cmocka_unit_test(when_it_was_empty),
		cmocka_unit_test(the_row),
		cmocka_unit_test(the_row_of_a_bound),
		cmocka_unit_test(a_recorded_tree_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
