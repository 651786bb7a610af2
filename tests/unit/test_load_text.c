#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "../../src/load/reader.h"
#include "load_helper.h"

static struct up_text text_of(const char *text)
{
	return (struct up_text){ text, strlen(text) };
}

static void decimals(void **state)
{
	static const struct {
		const char *text;
		int scale, error;
		int64_t value;
		const char *why;
	} cases[] = {
		{ "20.622520", 6, 0, 20622520, "ms to ns, every digit" },
		{ "0", 6, 0, 0, "zero" },
		{ "4962", 6, 0, 4962000000, "no fraction" },
		{ "0.0138", 9, 0, 13800000, "s to ns" },
		{ "1.5e-3", 9, 0, 1500000, "exponent" },
		{ "1.529143e+06", 3, 0, 1529143000, "positive exponent" },
		{ "2E3", 0, 0, 2000, "capital E" },
		{ "1.9999999", 3, 0, 2000, "rounded to the nearest" },
		{ "1.4999", 0, 0, 1, "rounded down" },
		{ "-1.5", 3, 0, -1500, "negative" },
		{ "+7", 0, 0, 7, "plus" },
		{ ".5", 1, 0, 5, "no digit before the point" },
		{ "5.", 1, 0, 50, "no digit behind it" },
		{ "0.00000000000000000000001", 9, 0, 0, "too small to see" },
		{ "3.14159265358979323846264338327950288", 9, 0, 3141592654, "more digits than a number holds" },
		{ "9223372036854775807", 0, 0, INT64_MAX, "largest" },
		{ "9223372036854775808", 0, -ERANGE, 0, "one more" },
		{ "1e30", 0, -ERANGE, 0, "too large" },
		{ "", 0, -EBADMSG, 0, "empty" },
		{ ".", 0, -EBADMSG, 0, "a point" },
		{ "-", 0, -EBADMSG, 0, "a sign" },
		{ "1,5", 0, -EBADMSG, 0, "a comma is no point" },
		{ "1.2.3", 0, -EBADMSG, 0, "two points" },
		{ "12ms", 0, -EBADMSG, 0, "a unit" },
		{ " 1", 0, -EBADMSG, 0, "a blank" },
		{ "1e", 0, -EBADMSG, 0, "no exponent behind the e" },
		{ "0x10", 0, -EBADMSG, 0, "hexadecimal" },
		{ "nan", 0, -EBADMSG, 0, "not a number" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t value = 77;
		int r = up_text_decimal(text_of(cases[i].text), cases[i].scale, &value);

		if (r != cases[i].error || value != (r ? 77 : cases[i].value))
			fail_msg("%s: %d, %lld", cases[i].why, r, (long long)value);
	}
}

static void moments(void **state)
{
	static const struct {
		const char *text;
		int error;
		int64_t us;
		bool whole_s;
		const char *why;
	} cases[] = {
		{ "1671829514", 0, 1671829514000000, true, "seconds" },
		{ "1671829514.25", 0, 1671829514250000, false, "seconds with a fraction" },
		{ "1671829514000", 0, 1671829514000000, false, "ms" },
		{ "1671829514123456", 0, 1671829514123456, false, "us" },
		{ "1671829514123456789", 0, 1671829514123456, false, "ns, rounded down" },
		{ "1", 0, 1000000, true, "a run that starts at 1970" },
		{ "2022-12-23T21:05:14Z", 0, 1671829514000000, true, "RFC 3339" },
		{ "2022-12-23T21:05:14.5Z", 0, 1671829514500000, false, "tenths" },
		{ "2022-12-23T22:05:14.8795741+01:00", 0, 1671829514879574, false, "seven digits and a zone" },
		{ "2022-12-23 15:05:14.000-0600", 0, 1671829514000000, false, "another zone" },
		{ "2022/12/23 21:05:14.263", 0, 1671829514263000, false, "JMeter, local zone (UTC here)" },
		{ "2022-13-23T21:05:14Z", -EBADMSG, 0, false, "month 13" },
		{ "2022-12-23T21:05Z", -EBADMSG, 0, false, "no seconds" },
		{ "2022-12-23T21:05:14.Z", -EBADMSG, 0, false, "no digit behind the point" },
		{ "2022-12-23T21:05:14+01:0", -EBADMSG, 0, false, "half a zone" },
		{ "-5", -EBADMSG, 0, false, "before 1970" },
		{ "soon", -EBADMSG, 0, false, "a word" },
		{ "", -EBADMSG, 0, false, "empty" },
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t us = 77;
		bool whole_s = false;
		int r = up_text_time(text_of(cases[i].text), &us, &whole_s);

		if (r != cases[i].error || us != (r ? 77 : cases[i].us) || (r == 0 && whole_s != cases[i].whole_s))
			fail_msg("%s: %d, %lld, %d", cases[i].why, r, (long long)us, whole_s);
	}
	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	{
		int64_t us;
		bool whole_s;

		assert_int_equal(up_text_time(text_of("2023/02/03 10:16:46.263"), &us, &whole_s), 0);
		assert_int_equal(us, 1675415806263000); /* 09:16:46 UTC */
	}
	setenv("TZ", "UTC", 1);
	tzset();
}

static void csv_fields(void **state)
{
	struct up_fields fields;
	char plain[32];

	(void)state;
	up_text_split(text_of("a,\"b,\"\"c\"\"\",,d\"e,\"\nf\""), ',', &fields);
	assert_int_equal(fields.n, 5);
	assert_true(up_text_is(fields.at[0], "a"));
	assert_int_equal(up_text_unquote(fields.at[1], plain, sizeof(plain)), 5);
	assert_memory_equal(plain, "b,\"c\"", 5);
	assert_int_equal(fields.at[2].n, 0);
	assert_true(up_text_is(fields.at[3], "d\"e"));
	assert_true(up_text_is(fields.at[4], "\nf"));
	up_text_split(text_of(""), ',', &fields);
	assert_int_equal(fields.n, 1);
	assert_int_equal(up_fields_get(&fields, 7).n, 0);
	assert_int_equal(up_text_delimiter(text_of("a;b;c,d\ne,f,g,h,i")), ';');
}

static void messages_show_no_control_bytes(void **state)
{
	char text[300];

	(void)state;
	assert_string_equal(up_text_show(text_of("a\x1b[31mb")).text, "a?[31mb");
	memset(text, 'x', sizeof(text));
	memcpy(text + 79, "\xc3\xa4", 2); /* cut through it */
	assert_string_equal(up_text_show((struct up_text){ text, sizeof(text) }).text + 76, "xxx...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals),
		cmocka_unit_test(moments),
		cmocka_unit_test(csv_fields),
		cmocka_unit_test(messages_show_no_control_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
