#include <errno.h>

#include "check.h"
#include "useprobe/scan.h"

static void numbers_are_whole_or_refused(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint64_t number;
		const char *why;
	} cases[] = {
		{ "0", 0, 0, "zero" },
		{ "18446744073709551615", 0, UINT64_MAX, "largest" },
		{ "18446744073709551616", -ERANGE, 0, "one more" },
		{ "", -EBADMSG, 0, "empty" },
		{ "-1", -EBADMSG, 0, "a sign is no digit" },
		{ " 1", -EBADMSG, 0, "no leading blank" },
		{ "1x", -EBADMSG, 0, "rest behind the number" },
		{ "1\n", -EBADMSG, 0, "whole text means whole" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		uint64_t n = 77;
		const int r = up_scan_whole_u64(cases[i].text, &n);

		if (r != cases[i].error || n != (r ? 77 : cases[i].number))
			fail_msg("%s: %d, %llu", cases[i].why, r, (unsigned long long)n);
	}
}

static void keys_match_whole(void **state)
{
	static const char text[] = "usage_usec 14\nnr_throttled_foo 9\nnr_throttled 5\nbad x\n";
	struct up_u64 v;

	(void)state;
	assert_int_equal(up_scan_key(text, "nr_throttled", &v), 0);
	assert_true(v.has && v.n == 5);
	assert_int_equal(up_scan_key(text, "throttled", &v), 0);
	assert_false(v.has);
	assert_int_equal(up_scan_key(text, "bad", &v), -EBADMSG);
	assert_int_equal(up_scan_key("", "any", &v), 0);
	assert_false(v.has);
}

/* Every prefix of a file is an error or the right value: a cut file never gives a wrong number or a wrong "missing". */
static void truncation_sweep(void **state)
{
	static const char text[] = "usage_usec 1400000\nuser_usec 900000\nthrottled_usec 250000\n";
	char cut[sizeof(text)];

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		struct up_u64 v;
		int r;

		memcpy(cut, text, len);
		cut[len] = '\0';
		r = up_scan_key(cut, "throttled_usec", &v);
		if (r == 0 && v.has)
			fail_msg("prefix of %zu bytes gave %llu", len, (unsigned long long)v.n);
		r = up_scan_key(cut, "usage_usec", &v);
		if (r == 0 && v.has && v.n != 1400000)
			fail_msg("prefix of %zu bytes gave usage %llu", len, (unsigned long long)v.n);
	}
}

static void single_values(void **state)
{
	struct up_u64 v;
	bool max;

	(void)state;
	assert_int_equal(up_scan_single("9223372036854771712\n", &v, &max), 0);
	assert_true(v.has && !max && v.n == 9223372036854771712ull);
	assert_int_equal(up_scan_single("max\n", &v, &max), 0);
	assert_true(max && !v.has);
	assert_int_equal(up_scan_single("-1\n", &v, &max), 0);
	assert_true(max && !v.has);
	assert_int_equal(up_scan_single("12", &v, &max), -EBADMSG);
	assert_int_equal(up_scan_single("invalid\n", &v, &max), -EBADMSG);
	assert_int_equal(up_scan_single("ma", &v, &max), -EBADMSG);
}

static void cpu_lists(void **state)
{
	static const struct {
		const char *text;
		int error;
		unsigned count;
	} cases[] = {
		{ "0-1\n", 0, 2 },
		{ "\n", 0, 0 },
		{ "0,8-9,16\n", 0, 4 },
		{ "0-1151\n", 0, 1152 },
		{ "3-1\n", -EBADMSG, 0 },
		{ "0-", -EBADMSG, 0 },
		{ "0-1", -EBADMSG, 0 },
		{ "0-99999999\n", -EBADMSG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		unsigned n = 0;

		if (up_scan_cpu_list(cases[i].text, &n) != cases[i].error || n != cases[i].count)
			fail_msg("%s gave %u", cases[i].text, n);
	}
}

static void decimals_and_escapes(void **state)
{
	char out[32];
	double d;
	int64_t i;
	const char *p = "-9223372036854775808";

	(void)state;
	assert_int_equal(up_scan_whole_decimal("12.50", &d), 0);
	assert_near(d, 12.5, 1e-12, "fraction");
	assert_int_equal(up_scan_whole_decimal("12.", &d), -EBADMSG);
	assert_int_equal(up_scan_whole_decimal("12,5", &d), -EBADMSG);
	assert_int_equal(up_scan_i64(&p, &i), 0);
	assert_true(i == INT64_MIN);
	assert_int_equal(up_scan_unescape("a\\040b\\134c", 11, out, sizeof(out)), 0);
	assert_string_equal(out, "a b\\c");
	assert_int_equal(up_scan_unescape("abcdef", 6, out, 4), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_or_refused),
		cmocka_unit_test(keys_match_whole),
		cmocka_unit_test(truncation_sweep),
		cmocka_unit_test(single_values),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(decimals_and_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
