#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "load_helper.h"

#define HEADER "metric_name,timestamp,metric_value,status,extra_tags\n"

struct rig {
	char dir[64], path[96], other[96];
	struct up_load_follow *follow;
};

static int setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	memcpy(rig->dir, "/tmp/useprobe-follow.XXXXXX", sizeof("/tmp/useprobe-follow.XXXXXX"));
	assert_non_null(mkdtemp(rig->dir));
	snprintf(rig->path, sizeof(rig->path), "%s/k6.csv", rig->dir);
	snprintf(rig->other, sizeof(rig->other), "%s/k6.csv.1", rig->dir);
	assert_int_equal(up_load_follow_new(rig->path, NULL, &rig->follow), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	up_load_follow_free(rig->follow);
	unlink(rig->path);
	unlink(rig->other);
	rmdir(rig->dir);
	free(rig);
	return 0;
}

static void append(const struct rig *rig, const char *text, const char *mode)
{
	FILE *out = fopen(rig->path, mode);

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static size_t poll_for(struct rig *rig, enum up_follow_state expected, struct up_load **ret_load)
{
	enum up_follow_state got;

	assert_int_equal(up_load_follow_poll(rig->follow, ret_load, &got), 0);
	assert_int_equal(got, expected);
	return (*ret_load)->points.n;
}

static void grows_in_pieces(void **state)
{
	struct rig *rig = *state;
	struct up_load *load;

	assert_int_equal(poll_for(rig, UP_FOLLOW_WAITING, &load), 0);
	append(rig, "metric_name,time", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 0); /* half a header is no error */
	append(rig, "stamp,metric_value,status,extra_tags\nhttp_req_duration,1700000000,10,200,\nhttp_req_dur", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 1);
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 0); /* given once */
	append(rig, "ation,1700000001,11,500,\ndropped_iterations,1700000001,3,,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 1);
	assert_point(load, 0, 1700000001489000, 11, true, "a line that came in two pieces");
	assert_int_equal(load->seconds.n, 1);
	assert_int_equal(load->seconds.at[0].dropped, 3);
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 0);
	assert_int_equal(load->seconds.n, 0);
	assert_int_equal(load->file[0].skipped_lines, 0);
}

static void rotated_file_is_read_to_its_end_first(void **state)
{
	struct rig *rig = *state;
	struct up_load *load;

	append(rig, HEADER "http_req_duration,1700000000,10,200,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 1);
	append(rig, "http_req_duration,1700000001,11,200,\n", "a");
	assert_int_equal(rename(rig->path, rig->other), 0);
	append(rig, HEADER "http_req_duration,1700000002,12,200,\nhttp_req_duration,1700000002,13,200,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 1);
	assert_near((double)up_packed_latency_ns(load->points.at[0].packed) / 1e6, 11, 0, "the rest of the old one");
	assert_int_equal(poll_for(rig, UP_FOLLOW_ROTATED, &load), 2);
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 0);
}

static void shortened_file_is_begun_anew(void **state)
{
	struct rig *rig = *state;
	struct up_load *load;

	append(rig, HEADER "http_req_duration,1700000000,10,200,\nhttp_req_duration,1700000000,10,200,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 2);
	append(rig, HEADER "http_req_duration,1700000005,12,200,\n", "w");
	assert_int_equal(poll_for(rig, UP_FOLLOW_ROTATED, &load), 1);
	assert_near((double)up_packed_latency_ns(load->points.at[0].packed) / 1e6, 12, 0, "the new one");
}

static void deleted_and_back(void **state)
{
	struct rig *rig = *state;
	struct up_load *load;

	append(rig, HEADER "http_req_duration,1700000000,10,200,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_READING, &load), 1);
	append(rig, "http_req_duration,1700000000,11,200,\n", "a");
	unlink(rig->path);
	assert_int_equal(poll_for(rig, UP_FOLLOW_GONE, &load), 1); /* what was written before it went */
	assert_int_equal(poll_for(rig, UP_FOLLOW_GONE, &load), 0);
	append(rig, HEADER "http_req_duration,1700000009,15,200,\n", "a");
	assert_int_equal(poll_for(rig, UP_FOLLOW_ROTATED, &load), 1);
}

static void unknown_content_is_tried_again(void **state)
{
	struct rig *rig = *state;
	struct up_load *load;
	enum up_follow_state got;

	append(rig, "Dear reader\n", "a");
	assert_int_equal(up_load_follow_poll(rig->follow, &load, &got), -ENOTSUP);
	assert_non_null(strstr(load->error, "Dear reader"));
	append(rig, HEADER "http_req_duration,1700000000,10,200,\n", "w");
	assert_int_equal(up_load_follow_poll(rig->follow, &load, &got), 0);
	assert_int_equal(load->points.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(grows_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(rotated_file_is_read_to_its_end_first, setup, teardown),
		cmocka_unit_test_setup_teardown(shortened_file_is_begun_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_content_is_tried_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
