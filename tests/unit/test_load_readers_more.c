/* vegeta, oha, JMeter XML and both Gatling logs: rules on made-up input, and real files against figures computed apart. */
#include <errno.h>
#include <stdlib.h>

#include "load_helper.h"

static void real_file(const char *path, uint64_t n, uint64_t failed, double mean_ms, double p50_ms, double p99_ms, double max_ms)
{
	struct up_load load;
	struct up_summary s;

	load_file(&load, path);
	s = load_summary(&load);
	if (s.n != n || s.failed != failed)
		fail_msg("%s: %llu requests, %llu failed", path, (unsigned long long)s.n, (unsigned long long)s.failed);
	assert_near(s.mean_ms, mean_ms, 1e-6, path);
	assert_near(s.q[UP_P50].ms, p50_ms, 1e-9, path);
	assert_near(s.q[UP_P99].ms, p99_ms, 1e-9, path);
	assert_near(s.max_ms, max_ms, 1e-9, path);
	assert_int_equal(load.file[0].skipped_lines, 0);
	up_load_done(&load);
}

static void real_files(void **state)
{
	(void)state;
	real_file(FIXTURES "load/vegeta_attack.csv.gz", 2000, 40, 59.684199, 2.433853, 1308.700593, 1508.773304);
	real_file(FIXTURES "load/oha_rate.csv.gz", 2000, 40, 9.811628, 2.305961, 5.378592, 1502.802915);
	real_file(FIXTURES "load/jmeter_flat.xml.gz", 900, 18, 20.26, 3, 1473, 1504);
	real_file(FIXTURES "load/gatling_text.log.gz", 2160, 43, 41.17407407407, 3, 1306, 1506);
	real_file(FIXTURES "load/gatling_binary.log.gz", 2160, 43, 41.96805555556, 3, 1302, 1502);
}

static void vegeta(void **state)
{
	static const char csv[] =
		"1796077291528757153,200,3181935,0,3,,b2sK,a,0,GET,http://h/,aGVhZA==\n"
		"1796077291529000999,0,1000000,0,0,\"Get \"\"http://h/\"\": refused, \nagain\",,a,1,GET,http://h/,\n"
		"1796077291529000999,500,5,0,0,500 Internal Server Error,,a,2\n"
		"1796077291529000999,200,x,0,0,,,a,3\n";
	static const char json[] =
		"{\"attack\":\"a\",\"seq\":0,\"code\":200,\"timestamp\":\"2026-11-30T22:21:31.528757153Z\",\"latency\":3181935,\"error\":\"\"}\n"
		"{\"attack\":\"a\",\"seq\":1,\"code\":0,\"timestamp\":\"2026-11-30T22:21:31Z\",\"latency\":1000000,\"error\":\"refused\"}\n"
		"{\"attack\":\"a\",\"seq\":1,\"code\":0,\"timestamp\":\"2026-11-30T22:21:31Z\",\"error\":\"refused\"}\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, csv, NULL), 0);
	assert_int_equal(load.points.n, 3);
	assert_point(&load, 0, 1796077291528757, 3.181935, false, "ns");
	assert_point(&load, 1, 1796077291529000, 1, true, "no answer, and a quoted error over two lines");
	assert_point(&load, 2, 1796077291529000, 0.000005, true, "500 in nine columns");
	assert_int_equal(load.file[0].skipped_lines, 1);
	up_load_done(&load);
	sweep_truncation(csv, sizeof(csv) - 1, NULL);
	assert_int_equal(load_text(&load, json, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1796077291528757, 3.181935, false, "JSON");
	assert_point(&load, 1, 1796077291000000, 1, true, "JSON, no answer");
	assert_int_equal(load.file[0].skipped_lines, 1);
	up_load_done(&load);
	sweep_truncation(json, sizeof(json) - 1, NULL);
}

static void oha(void **state)
{
	static const char text[] =
		"request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n"
		"0.001416141,0.000036635,0.000180065,0.002723472,0.002724443,3,200\n0.5,0,0,0.1,0.2,3,503\n0.6,0,0\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1416, 2.724443, false, "seconds with nine digits");
	assert_point(&load, 1, 500000, 200, true, "503");
	assert_true(load.undated);
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void jmeter_xml(void **state)
{
	static const char text[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n"
		"<sample t=\"11\" ts=\"1700000000000\" s=\"true\" lb=\"pay\" rm=\"Number of samples in transaction : 2, number of failing samples : 0\" na=\"3\">\n"
		"  <httpSample t=\"5\" it=\"0\" ts=\"1700000000000\" s=\"true\" lb=\"a &quot;b&quot; &lt; c\" rc=\"200\" rm=\"x &gt; y\" na=\"3\"><a>t=\"9\"</a></httpSample>\n"
		"  <httpSample\n ts='1700000000005' t='6' s='false' lb='d' na='3'/>\n</sample>\n"
		"<httpSample t=\"x\" ts=\"1700000000000\" s=\"true\" lb=\"bad\"/>\n</testResults>\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1700000000000000, 5, false, "nested request");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[0].packed)], "a \"b\" < c");
	assert_point(&load, 1, 1700000000005000, 6, true, "other quotes, other order, over two lines");
	assert_int_equal(load.file[0].transactions_left_out, 1);
	assert_int_equal(load.file[0].skipped_lines, 1);
	assert_int_equal(load.file[0].note[0].line, 8);
	up_load_done(&load);
}

/* A transaction that stands before its requests is known to repeat them only at the end, so prefixes may hold it: checked on requests alone. */
static void jmeter_xml_cut(void **state)
{
	static const char text[] =
		"<?xml version=\"1.0\"?>\n<testResults version=\"1.2\">\n<httpSample t=\"5\" ts=\"1700000000000\" s=\"true\" lb=\"a\"/>\n"
		"<httpSample t=\"6\" ts=\"1700000000005\" s=\"false\" lb=\"b\">\n</httpSample>\n</testResults>\n";

	(void)state;
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void gatling_text(void **state)
{
	static const char text[] =
		"RUN\tShop\tshop\t1700000000000\t \t3.12.0\nUSER\tshop\tSTART\t1700000000001\n"
		"REQUEST\tone,two\tbuy\t1700000000010\t1700000000015\tOK\t \nREQUEST\t\tlist\t1700000000010\t1700000000016\tKO\tfound 500\n"
		"GROUP\tone\t1700000000010\t1700000000077\t13\tOK\nUSER\tshop\tEND\t1700000000090\nREQUEST\t\tlist\t17\n";
	struct up_load load;

	(void)state;
	assert_int_equal(load_text(&load, text, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1700000000010000, 5, false, "groups");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[0].packed)], "one/two / buy");
	assert_point(&load, 1, 1700000000010000, 6, true, "KO");
	assert_int_equal(load.file[0].skipped_lines, 1);
	up_load_done(&load);
	sweep_truncation(text, sizeof(text) - 1, NULL);
}

static void gatling_binary(void **state)
{
	static const char header[] = "\0\0\0\0\006"
				     "3.15.1"
				     "\0"
				     "\0\0\0\004"
				     "Shop"
				     "\0"
				     "\0\0\001\213\317\345\150\0"
				     "\0\0\0\0"
				     "\0\0\0\001"
				     "\0\0\0\002"
				     "sc"
				     "\0"
				     "\0\0\0\001"
				     "\0\0\0\003"
				     "abc"; /* one assertion of three bytes */
	static const char records[] = "\002\0\0\0\0\001\0\0\0\005" /* a user starts */
				      "\001"
				      "\0\0\0\001"
				      "\0\0\0\001"
				      "\0\0\0\002"
				      "g\344"
				      "\0" /* request in a new group "gä" in Latin-1 */
				      "\0\0\0\002"
				      "\0\0\0\004"
				      "l\0i\0"
				      "\001" /* new name "li" in UTF-16 */
				      "\0\0\0\012"
				      "\0\0\0\017"
				      "\001"
				      "\0\0\0\003"
				      "\0\0\0\0" /* 10..15 ms, ok, new empty message */
				      "\001"
				      "\0\0\0\0"
				      "\377\377\377\376"
				      "\0\0\0\024"
				      "\0\0\0\047"
				      "\0"
				      "\377\377\377\375" /* name 2 again, 20..39 ms, KO */
				      "\003"
				      "\0\0\0\001"
				      "\377\377\377\377"
				      "\0\0\0\012"
				      "\0\0\0\047"
				      "\0\0\0\020"
				      "\001" /* a group */
				      "\004"
				      "\377\377\377\375"
				      "\0\0\0\062"; /* an error */
	char bytes[512];
	struct up_load load;

	(void)state;
	memcpy(bytes, header, sizeof(header) - 1);
	memcpy(bytes + sizeof(header) - 1, records, sizeof(records) - 1);
	assert_int_equal(load_bytes(&load, bytes, sizeof(header) + sizeof(records) - 2, NULL), 0);
	assert_int_equal(load.points.n, 2);
	assert_point(&load, 0, 1700000000010000, 5, false, "first");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[0].packed)], "g\xc3\xa4 / li");
	assert_point(&load, 1, 1700000000020000, 19, true, "second");
	assert_string_equal(load.names.name[up_packed_name(load.points.at[1].packed)], "li");
	up_load_done(&load);
	sweep_truncation(bytes, sizeof(header) + sizeof(records) - 2, NULL);
	bytes[sizeof(header) - 1] = 9; /* no such record: what follows cannot be found */
	assert_int_equal(load_bytes(&load, bytes, sizeof(header) + sizeof(records) - 2, NULL), -EBADMSG);
	assert_non_null(strstr(load.file[0].note[0].text, "what follows it is lost"));
	up_load_done(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_files),
		cmocka_unit_test(vegeta),
		cmocka_unit_test(oha),
		cmocka_unit_test(jmeter_xml),
		cmocka_unit_test(jmeter_xml_cut),
		cmocka_unit_test(gatling_text),
		cmocka_unit_test(gatling_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
