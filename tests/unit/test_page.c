/* The report as HTML and Markdown: hostile text stays text, the page is well-formed, loads nothing and stays small. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/sink/doc.h"
#include "../../src/sink/figures.h"
#include "../../src/sink/svg.h"
#include "check.h"
#include "useprobe/cli.h"

#define HOSTILE "<img src=x onerror=alert(1)>&\"'`|*_[a](http://evil.example/)"

enum { STEPS = 10, STEP_S = 10, CAPACITY = 52 };

static char dir[64];

static const char *path_of(const char *name)
{
	static char path[4][512];
	static unsigned next;
	char *ret = path[next++ % 4];

	snprintf(ret, sizeof(path[0]), "%s/%s", dir, name);
	return ret;
}

static void expect_html(const char *text, const char *want)
{
	struct up_buffer out = { 0 };

	up_html_text(&out, text);
	assert_string_equal(out.text ? out.text : "", want);
	up_buffer_done(&out);
}

static void expect_markdown(const char *text, const char *want)
{
	struct up_buffer out = { 0 };

	up_markdown_text(&out, text);
	assert_string_equal(out.text, want);
	up_buffer_done(&out);
}

static void escapes_html(void **state)
{
	(void)state;
	expect_html("", "");
	expect_html("a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&#39;c");
	expect_html("7" UP_M " 8" UP_C " 9" UP_A,
		"7<sup title=\"measured\">m</sup> 8<sup title=\"computed\">c</sup> 9<sup title=\"assumed\">a</sup>");
	expect_html("\xff\n\x1b[31m\xc2\x85", "\\xff\\x0a\\x1b[31m\\xc2\\x85");
	expect_html("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
}

static void escapes_markdown(void **state)
{
	(void)state;
	expect_markdown("a|b`c*d_e[f]<g>&h$i~j\\", "a\\|b\\`c\\*d\\_e\\[f\\]\\<g\\>\\&h\\$i\\~j\\\\");
	expect_markdown("# no heading - 3", "\\# no heading - 3");
	expect_markdown("1" UP_M, "1<sup>m</sup>");
	expect_markdown("a\nb", "a\\\\x0ab");
}

/* A foreign byte must never be taken for a mark. */
static void foreign_text_holds_no_marks(void **state)
{
	char large[2000];

	(void)state;
	assert_string_equal(up_plain("7" UP_M).text, "7\\x01");
	assert_string_equal(up_plain("a\xe2\x80\xae"
				     "b")
				    .text,
		"a\\xe2\\x80\\xaeb");
	memset(large, 'x', sizeof(large) - 1);
	memcpy(large, "begin", 5);
	memcpy(large + sizeof(large) - 4, "end", 4);
	assert_int_equal(strncmp(up_plain(large).text, "begin", 5), 0);
	assert_non_null(strstr(up_plain(large).text, " ... "));
	assert_string_equal(up_plain(large).text + strlen(up_plain(large).text) - 3, "end");
}

static void figures_say_what_is_unknown(void **state)
{
	(void)state;
	assert_string_equal(up_amount(NAN).text, "\xe2\x80\x93");
	assert_string_equal(up_amount(0).text, "0");
	assert_string_equal(up_amount(0.0001).text, "<0.001");
	assert_string_equal(up_amount(0.1234).text, "0.123");
	assert_string_equal(up_amount(9.996).text, "10.0");
	assert_string_equal(up_amount(999.6).text, "1000");
	assert_string_equal(up_amount(1420267).text, "1\xe2\x80\xaf"
						     "420\xe2\x80\xaf"
						     "267");
	assert_string_equal(up_ms(0.142).text, "0.142 ms");
	assert_string_equal(up_ms(1e5).text, "100 s");
	assert_string_equal(up_ms(NAN).text, "\xe2\x80\x93");
	assert_string_equal(up_percent(0.143).text, "14 %");
	assert_string_equal(up_percent(0).text, "0 %");
	assert_string_equal(up_percent(0.00001).text, "<0.1 %");
	assert_string_equal(up_ms_tick(2000).text, "2 s");
}

static void axes_end_at_whole_ticks(void **state)
{
	const struct up_axis linear = up_axis_linear(0, 493, 0, 100), log = up_axis_log(7, 950, 100, 0);
	double tick[UP_TICKS_MAX];
	size_t n = up_axis_ticks(&linear, 5, tick);

	(void)state;
	assert_near(linear.hi, 500, 1e-9, "highest");
	assert_int_equal(n, 6);
	assert_near(tick[5], 500, 1e-9, "last tick");
	assert_near(up_axis_at(&linear, 250), 50, 1e-9, "middle");
	assert_near(up_axis_at(&linear, 1e9), 100, 1e-9, "what is beyond stays at the edge");
	assert_near(log.hi, 1000, 1e-6, "half decade above");
	assert_near(up_axis_at(&log, log.lo), 100, 1e-9, "bottom");
	n = up_axis_ticks(&log, 5, tick);
	assert_true(n >= 3 && n <= UP_TICKS_MAX);
	assert_string_equal(up_px(12.34).text, "12.3");
	assert_string_equal(up_px(-0.01).text, "0");
	assert_string_equal(up_px(7).text, "7");
}

/* Ten steps of 10, 20, ... requests/s; beyond CAPACITY each request waits for those before it. */
static void write_load(const char *path)
{
	FILE *out = fopen(path, "w");
	double free_at = 0;

	assert_non_null(out);
	fputs("planned_s,sent_s,end_s,status,vu,step\n", out);
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < (step + 1) * 10 * STEP_S; i++) {
			const double at = 1800000000.0 + step * STEP_S + i / ((step + 1) * 10.0);

			free_at = fmax(at, free_at) + 1.0 / CAPACITY;
			fprintf(out, "%.6f,%.6f,%.6f,200,1,%d\n", at, at, free_at, step + 1);
		}
	fclose(out);
}

/* A name as a CSV cell. */
static const char *cell(const char *text)
{
	static char cell[512];
	char *at = cell;

	*at++ = '"';
	for (; *text; text++) {
		if (*text == '"')
			*at++ = '"';
		*at++ = *text;
	}
	memcpy(at, "\"", 2);
	return cell;
}

/* A CPU that fills, a requests row, a mark, all with hostile names. */
static void write_samples(const char *path)
{
	FILE *out = fopen(path, "w");
	double backlog = 0;

	assert_non_null(out);
	fputs("time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target\n",
		out);
	for (int s = 1; s <= STEPS * STEP_S; s++) {
		const double rate = 10 * (1 + (s - 1) / STEP_S), used = fmin(1, rate / CAPACITY);
		char head[80];

		backlog += fmax(0, rate - CAPACITY);
		snprintf(head, sizeof(head), "2027-01-15T08:%02d:%02d.000Z,%d.0,1.0,", s / 60, s % 60, s);
		fprintf(out, "%scgroup,cpu,%s,%.3f,%.3f,ratio,%.3f,,ok,ok,cpu.stat measured,servers=1;used_cpus=%.3f,", head,
			cell(HOSTILE), used, used, backlog, used);
		fprintf(out, "%s\n", cell(HOSTILE));
		fprintf(out,
			"%slistener,requests,tcp:0.0.0.0:80,,0,unread,0,0,ok,ok,%s,in_flight=%.3f;area_s=%.3f;arrivals=%.0f;departures=%.0f,",
			head, cell("socket <b>measured</b>"), used + backlog, used + backlog, rate, fmin(rate, CAPACITY));
		fprintf(out, "%s\n", cell(HOSTILE));
		if (s == 20)
			fprintf(out, "%sevent,mark,,,,,,,,ok,,text=<script>alert(2)</script>,\n", head);
	}
	fclose(out);
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(in);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
	fclose(in);
	return text;
}

static int report(const char *samples, const char *load, const char *option, const char *output)
{
	char *argv[16] = { "report", (char *)samples, "--load", (char *)load, "--steps", "10:10:10:10", "--slo", "p95<200ms",
		"--peak", "40", "-o", (char *)output, (char *)option, NULL };
	int argc = option ? 13 : 12;

	if (!load) {
		argv[2] = "-o";
		argv[3] = (char *)output;
		argv[4] = NULL;
		argc = 4;
	}
	return up_cli_report(argc, argv);
}

/* Every tag is closed in order, every attribute is quoted, every & begins a reference. Enough to see an escape that is missing. */
static void assert_well_formed(const char *html)
{
	char open[64][32];
	size_t depth = 0;

	html = strchr(html, '>') + 1; /* the doctype */
	for (; *html; html++) {
		if (*html == '&')
			assert_true(strspn(html + 1, "#abcdefghijklmnopqrstuvwxyz0123456789") > 1 && strchr(html, ';'));
		if (*html != '<')
			continue;
		const bool closing = *++html == '/';
		const size_t name_n = strcspn(html += closing, " />\n");
		char name[32] = "";

		assert_true(name_n > 0 && name_n < sizeof(name));
		memcpy(name, html, name_n);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"), name_n);
		bool quoted = false;

		for (html += name_n; *html && (quoted || *html != '>'); html++) {
			if (*html == '"')
				quoted = !quoted;
			assert_true(*html != '<');
			if (*html == '=' && !quoted)
				assert_int_equal(html[1], '"');
		}
		assert_int_equal(*html, '>');
		if (closing) {
			assert_true(depth > 0);
			if (strcmp(open[--depth], name) != 0)
				fail_msg("</%s> closes <%s>", name, open[depth]);
		} else if (html[-1] != '/') {
			assert_true(depth < 64);
			memcpy(open[depth++], name, sizeof(name));
		}
	}
	assert_int_equal(depth, 0);
}

/* The sections stand in the order of the articles. */
static void assert_order(const char *text)
{
	static const char *const sections[] = { "1. Goal", "2. Load", "3. Environment", "4. Result", "5. Bottleneck",
		"6. Action" };

	for (size_t i = 0; i < UP_COUNT(sections); i++) {
		text = strstr(text, sections[i]);
		assert_non_null(text);
	}
}

static void html_of_a_hostile_run(void **state)
{
	const char *samples = path_of("<b>&samples.csv"), *load = path_of("<i>&load.csv"), *output = path_of("r.html");
	char *html;

	(void)state;
	write_samples(samples);
	write_load(load);
	assert_int_equal(report(samples, load, NULL, output), 0);
	html = read_file(output);
	assert_well_formed(html);
	assert_order(html);
	assert_true(strlen(html) < 300000);
	assert_null(strstr(html, "<img"));
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "<b>&samples"));
	assert_null(strstr(html, "url("));
	assert_null(strstr(html, "src="
				 " \""));
	assert_null(strstr(html, " href="));
	assert_non_null(strstr(html, "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;`|*_"));
	assert_non_null(strstr(html, "mark: &lt;script&gt;alert(2)&lt;/script&gt;"));
	/* The knee lies between 50 and 60 requests/s by construction, and p95 < 200 ms is met up to 50. */
	assert_non_null(strstr(html, "between 50/s and 60/s"));
	assert_non_null(strstr(html, "met up to 50/s"));
	assert_non_null(strstr(html, "class=\"figure\">cpu &lt;img"));
	assert_non_null(strstr(html, "class=\"knee\""));
	assert_non_null(strstr(html, "offered load (requests/s)"));
	assert_non_null(strstr(html, "completed (requests/s)"));
	free(html);
}

static void markdown_of_a_hostile_run(void **state)
{
	const char *samples = path_of("<b>&samples.csv"), *load = path_of("<i>&load.csv"), *output = path_of("r.md");
	char *text;

	(void)state;
	write_samples(samples);
	write_load(load);
	assert_int_equal(report(samples, load, NULL, output), 0);
	text = read_file(output);
	assert_order(text);
	for (const char *at = text; (at = strstr(at, "<img")); at++)
		assert_int_equal(at[-1], '\\');
	assert_null(strstr(text, "_[a](http"));
	assert_non_null(strstr(text, "\\[a\\](http"));
	assert_non_null(strstr(text, "between 50/s and 60/s"));
	assert_non_null(strstr(text, "\\<img src=x"));
	free(text);
}

static void page_of_samples_alone(void **state)
{
	const char *samples = path_of("alone.csv"), *output = path_of("alone.html");
	char *html;

	(void)state;
	write_samples(samples);
	assert_int_equal(report(samples, NULL, NULL, output), 0);
	html = read_file(output);
	assert_well_formed(html);
	assert_order(html);
	assert_non_null(strstr(html, "No load file was given"));
	free(html);
}

static void never_replaces_its_sources(void **state)
{
	const char *samples = path_of("s.csv"), *load = path_of("l.csv");
	struct stat before, after;

	(void)state;
	write_samples(samples);
	write_load(load);
	stat(load, &before);
	assert_int_equal(report(samples, load, NULL, samples), 2);
	assert_int_equal(report(samples, load, NULL, load), 2);
	assert_int_equal(report(samples, load, NULL, path_of("s.json")), 2);
	assert_int_equal(report(samples, load, NULL, path_of("s.pdf")), 2);
	stat(load, &after);
	assert_int_equal(before.st_size, after.st_size);
}

static int rows_csv(const char *samples, const char *kind, const char *output, const char *option)
{
	char *argv[] = { "report", (char *)samples, (char *)kind, "-o", (char *)output, (char *)option, NULL };

	return up_cli_report(option ? 6 : 5, argv);
}

static void wide_and_formula_safe(void **state)
{
	const char *samples = path_of("f.csv"), *output = path_of("w.csv");
	FILE *out = fopen(samples, "w");
	char *text;

	(void)state;
	assert_non_null(out);
	fputs("time,elapsed_s,window_s,scope,resource,name,utilization,saturation,saturation_unit,waiting,errors,condition,state,method,detail,target\n"
	      "2027-01-15T08:00:01.000Z,1.000000,1.000000,cgroup,cpu,=1+1,0.5,0.25,ratio,,,ok,ok,cpu.stat measured,servers=1,\"@a,b\"\n"
	      "2027-01-15T08:00:01.000Z,1.000000,,event,mark,,,,,,,,ok,,text==cmd(),\n"
	      "2027-01-15T08:00:02.000Z,2.000000,1.000000,cgroup,cpu,=1+1,0,,ratio,,,ok,ok,cpu.stat measured,servers=1,\"@a,b\"\n",
		out);
	fclose(out);
	assert_int_equal(rows_csv(samples, "--wide", output, "--formula-safe"), 0);
	text = read_file(output);
	assert_string_equal(text, "time,elapsed_s,cpu =1+1 utilization,cpu =1+1 saturation [ratio],events\n"
				  "2027-01-15T08:00:01.000Z,1,0.5,0.25,mark: =cmd()\n"
				  "2027-01-15T08:00:02.000Z,2,0,,\n");
	free(text);
	assert_int_equal(rows_csv(samples, "--long", output, "--formula-safe"), 0);
	text = read_file(output);
	assert_non_null(strstr(text, ",cgroup,cpu,'=1+1,0.5,0.25,ratio,"));
	assert_non_null(strstr(text, ",\"'@a,b\"\n"));
	assert_null(strstr(text, ",="));
	free(text);
	/* Without --formula-safe every byte stays. */
	assert_int_equal(rows_csv(samples, "--long", output, NULL), 0);
	text = read_file(output);
	assert_non_null(strstr(text, ",cgroup,cpu,=1+1,0.5,0.25,ratio,"));
	free(text);
	assert_int_equal(rows_csv(samples, "--wide", path_of("w.html"), NULL), 2);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/useprobe-page.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = { "<b>&samples.csv", "<i>&load.csv", "r.html", "r.md", "alone.csv", "alone.html",
		"s.csv", "l.csv", "f.csv", "w.csv" };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(names); i++)
		if (!getenv("KEEP"))
			unlink(path_of(names[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_html),
		cmocka_unit_test(escapes_markdown),
		cmocka_unit_test(foreign_text_holds_no_marks),
		cmocka_unit_test(figures_say_what_is_unknown),
		cmocka_unit_test(axes_end_at_whole_ticks),
		cmocka_unit_test(html_of_a_hostile_run),
		cmocka_unit_test(markdown_of_a_hostile_run),
		cmocka_unit_test(page_of_samples_alone),
		cmocka_unit_test(never_replaces_its_sources),
		cmocka_unit_test(wide_and_formula_safe),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
