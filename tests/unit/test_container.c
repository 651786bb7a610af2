/* The pure part of the container look-up, on answers recorded from Docker 20.10 (trimmed, ids shortened by hand). */
#include <errno.h>

#include "check.h"
#include "useprobe/container.h"

static const char list[] =
	"[{\"Id\":\"aaaa1111bbbb\",\"Names\":[\"/shop_web_1\"],\"Labels\":{\"com.docker.compose.service\":\"web\"},\"State\":\"running\"},"
	"{\"Id\":\"aaaa2222cccc\",\"Names\":[\"/shop_web_2\"],\"Labels\":{\"com.docker.compose.service\":\"web\"},\"State\":\"paused\"},"
	"{\"Id\":\"dddd3333eeee\",\"Names\":[\"/web/db\",\"/api\"],\"Labels\":{},\"State\":\"running\"},"
	"{\"Id\":\"ffff4444aaaa\",\"Names\":[\"/we\\u001b[31mird\"],\"Labels\":null,\"State\":\"running\"}]";

static void names_services_ids(void **state)
{
	static const struct {
		const char *name;
		size_t count;
		const char *id; /* of the first */
		bool service;
		const char *why;
	} cases[] = {
		{ "api", 1, "dddd3333eeee", false, "a name; the link /web/db is another container's view" },
		{ "web", 2, "aaaa1111bbbb", true, "a compose service: all replicas" },
		{ "shop_web_2", 1, "aaaa2222cccc", false, "one replica by its name" },
		{ "aaaa2", 1, "aaaa2222cccc", false, "an id prefix" },
		{ "aaaa", 2, "aaaa1111bbbb", false, "an ambiguous prefix gives all, the caller says so" },
		{ "aaa", 0, NULL, false, "less than 4 digits is no id" },
		{ "db", 0, NULL, false, "a link is no name" },
		{ "we\x1b[31mird", 1, "ffff4444aaaa", false, "bytes are kept" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_containers found = { 0 };

		assert_int_equal(up_containers_parse(list, sizeof(list) - 1, cases[i].name, &found), 0);
		if (found.count != cases[i].count || found.service != cases[i].service)
			fail_msg("%s: %zu found", cases[i].why, found.count);
		if (cases[i].id)
			assert_string_equal(found.items[0].id, cases[i].id);
	}
}

static void all_of_them(void **state)
{
	struct up_containers found = { 0 };

	(void)state;
	assert_int_equal(up_containers_parse(list, sizeof(list) - 1, NULL, &found), 0);
	assert_int_equal(found.count, 4);
	assert_string_equal(found.items[1].state, "paused");
	assert_string_equal(found.items[2].name, "api");
}

static void every_prefix_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(list) - 1; len++)
		if (up_containers_parse(list, len, NULL, &(struct up_containers){ 0 }) != -EBADMSG)
			fail_msg("prefix of %zu bytes", len);
	assert_int_equal(up_containers_parse("{\"message\":\"no\"}", 16, NULL, &(struct up_containers){ 0 }), -EBADMSG);
}

static void pids(void **state)
{
	static const char good[] = "{\"State\":{\"Status\":\"running\",\"Pid\":4242}}";
	pid_t pid = 0;

	(void)state;
	assert_int_equal(up_container_parse_pid(good, sizeof(good) - 1, &pid), 0);
	assert_int_equal(pid, 4242);
	assert_int_equal(up_container_parse_pid("{}", 2, &pid), -EBADMSG);
	assert_int_equal(up_container_parse_pid("{\"State\":{\"Pid\":\"1\"}}", 21, &pid), -EBADMSG);
	assert_int_equal(up_container_parse_pid("{\"State\":{\"Pid\":-1}}", 20, &pid), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_services_ids),
		cmocka_unit_test(all_of_them),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(pids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
