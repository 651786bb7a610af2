/* The ladder from a name to cgroups, on trees shaped like real machines. */
#include <errno.h>

#include "tree_helper.h"
#include "useprobe/target.h"

#define CG "/sys/fs/cgroup"

static const char v2_mounts[] = "35 25 0:30 / " CG " rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

struct machine {
	struct tree tree;
	struct up_hierarchies hierarchies;
	struct up_candidates found;
	char message[2048];
};

static void start(struct machine *machine, const char *mountinfo)
{
	*machine = (struct machine){ 0 };
	tree_init(&machine->tree);
	tree_file(&machine->tree, "/proc/self/mountinfo", mountinfo);
	assert_int_equal(up_hierarchies_read(&machine->tree.source, &machine->tree.arena, &machine->hierarchies), 0);
}

static int look(struct machine *machine, const char *name)
{
	up_candidates_done(&machine->found);
	machine->message[0] = '\0';
	return up_lookup(&machine->tree.source, &machine->tree.arena, &machine->hierarchies, name, NULL, &machine->found,
		machine->message, sizeof(machine->message));
}

/* NAME is found as HOW, once, at PATH. */
static void expect(struct machine *machine, const char *name, const char *how, const char *path)
{
	const int r = look(machine, name);

	if (r < 0)
		fail_msg("%s: %d %s", name, r, machine->message);
	if (machine->found.count != 1 || strcmp(machine->found.how, how) != 0 || strcmp(machine->found.items[0].path, path) != 0)
		fail_msg("%s: %zu found by %s, first %s", name, machine->found.count, machine->found.how,
			machine->found.items[0].path);
}

static void expect_none(struct machine *machine, const char *name, const char *in_message)
{
	assert_int_equal(look(machine, name), -ENOENT);
	if (!strstr(machine->message, in_message))
		fail_msg("%s: message without '%s': %s", name, in_message, machine->message);
}

static void stop(struct machine *machine)
{
	up_candidates_done(&machine->found);
	tree_done(&machine->tree);
}

static void systemd_machine(struct machine *machine)
{
	start(machine, v2_mounts);
	tree_file(&machine->tree, CG "/cgroup.controllers", "cpuset cpu io memory pids\n");
	tree_cgroup(&machine->tree, CG "/system.slice/api.service", "100\n101\n");
	tree_cgroup(&machine->tree, CG "/system.slice/shop.service/worker", "110\n");
	tree_cgroup(&machine->tree, CG "/my.slice/my-foo.slice/my-foo-group.slice/deep.service", "");
	tree_cgroup(&machine->tree, CG "/user.slice/user-1000.slice/user@1000.service/dbus\\x2d:1.2-org.a11y@0.service", "");
	tree_cgroup(&machine->tree, CG "/user.slice/user-1000.slice/session-2.scope", "120\n");
	tree_cgroup(&machine->tree, CG "/system.slice/twin.service", "");
	tree_cgroup(&machine->tree, CG "/user.slice/twin.service", "");
	tree_cgroup(&machine->tree, CG "/twin.slice", "");
	tree_cgroup(&machine->tree, CG "/a/box", "");
	tree_cgroup(&machine->tree, CG "/b/box", "");
	tree_cgroup(&machine->tree, CG "/a/only", "");
	tree_process(&machine->tree, 100, "java", 5, "0::/system.slice/api.service\n");
	tree_process(&machine->tree, 101, "java", 5, "0::/system.slice/api.service\n");
	tree_process(&machine->tree, 110, "a-very-long-nam", 5, "0::/system.slice/shop.service/worker\n");
	tree_process(&machine->tree, 120, "bash", 5, "0::/user.slice/user-1000.slice/session-2.scope\n");
	tree_process(&machine->tree, 121, "box", 5, "0::/user.slice/user-1000.slice/session-2.scope\n");
	tree_process(&machine->tree, 1, "init", 1, "0::/\n");
}

static void every_class(void **state)
{
	struct machine m;

	(void)state;
	systemd_machine(&m);
	expect(&m, CG "/system.slice/api.service", "absolute path", "/system.slice/api.service");
	expect(&m, CG "//system.slice/api.service/", "absolute path", "/system.slice/api.service");
	expect(&m, CG, "absolute path", "/");
	expect(&m, "system.slice/api.service", "relative path", "/system.slice/api.service");
	expect(&m, "/system.slice/api.service", "relative path", "/system.slice/api.service");
	expect(&m, "user.slice", "relative path", "/user.slice");
	expect(&m, "/", "relative path", "/");
	expect(&m, "api", "systemd unit", "/system.slice/api.service");
	expect(&m, "api.service", "systemd unit", "/system.slice/api.service");
	expect(&m, "session-2", "systemd unit", "/user.slice/user-1000.slice/session-2.scope");
	expect(&m, "session-2.scope", "systemd unit", "/user.slice/user-1000.slice/session-2.scope");
	expect(&m, "my-foo-group.slice", "systemd unit", "/my.slice/my-foo.slice/my-foo-group.slice");
	expect(&m, "my-foo-group", "systemd unit", "/my.slice/my-foo.slice/my-foo-group.slice");
	expect(&m, "only", "directory name", "/a/only");
	expect(&m, "worker", "directory name", "/system.slice/shop.service/worker");
	expect(&m, "java", "process name", "/system.slice/api.service");
	expect(&m, "a-very-long-name-of-a-process", "process name", "/system.slice/shop.service/worker");
	stop(&m);
}

/* Both the literal name and the name that systemd wrote in escapes. */
static void escapes(void **state)
{
	static const char path[] = "/user.slice/user-1000.slice/user@1000.service/dbus\\x2d:1.2-org.a11y@0.service";
	struct machine m;

	(void)state;
	systemd_machine(&m);
	expect(&m, "dbus\\x2d:1.2-org.a11y@0.service", "systemd unit", path);
	expect(&m, "dbus\\x2d:1.2-org.a11y@0", "systemd unit", path);
	expect(&m, "dbus-:1.2-org.a11y@0.service", "systemd unit", path);
	stop(&m);
}

static void several_and_none(void **state)
{
	struct machine m;

	(void)state;
	systemd_machine(&m);
	assert_int_equal(look(&m, "twin"), 0); /* two services; the slice of that name is a class of its own */
	assert_int_equal(m.found.count, 2);
	assert_int_equal(look(&m, "box"), 0); /* two directories; the process of that name comes later in the ladder */
	assert_int_equal(m.found.count, 2);
	assert_string_equal(m.found.how, "directory name");
	expect_none(&m, "nowhere", "'nowhere' was not found");
	expect_none(&m, "nowhere", "systemd unit");
	expect_none(&m, "", "empty");
	expect_none(&m, "..", "not found");
	expect_none(&m, "../../etc", "not found");
	expect_none(&m, "/sys/fs/cgroup/../../../etc", "not found");
	expect_none(&m, "/etc", "not found");
	expect_none(&m, "api.servic", "not found");
	expect_none(&m, "bad\x1b[31m\n\xff", "'bad\\x1b[31m\\x0a\\xff'");
	/* A process in the root group stands for the whole machine, so it is no answer. */
	expect_none(&m, "init", "--pid 1");
	stop(&m);
}

/* Names that file systems, systemd and people come up with; each found by its literal name. */
static void odd_names(void **state)
{
	static const char *const names[] = { "system-ceph\\x2dosd.slice", "my app", "user@1000.service", "a:b", "two\nlines",
		"q\"uote", "comma,name", "-dash",
		"gr\xc3\xb6\xc3\x9f"
		"e",
		"\xff\xfe", "semi;colon=%41", "\x1b[2Jclear", "it's" };
	struct machine m;
	char longest[256], path[512];

	(void)state;
	start(&m, v2_mounts);
	memset(longest, 'n', 255);
	longest[255] = '\0';
	for (size_t i = 0; i <= UP_COUNT(names); i++) {
		const char *name = i < UP_COUNT(names) ? names[i] : longest;

		snprintf(path, sizeof(path), CG "/%s", name);
		tree_cgroup(&m.tree, path, "");
		expect(&m, name, "relative path", path + strlen(CG));
		if (strlen(name) > 250)
			continue;
		/* Deeper down, where only the walk finds it. */
		snprintf(path, sizeof(path), CG "/inner/%s-2", name);
		tree_cgroup(&m.tree, path, "");
		snprintf(path, sizeof(path), "%s-2", name);
		assert_int_equal(look(&m, path), 0);
		snprintf(path, sizeof(path), "/inner/%s-2", name);
		assert_int_equal(m.found.count, 1);
		assert_string_equal(m.found.items[0].path, path);
	}
	stop(&m);
}

/* A private cgroup namespace: the own group is the mount's top, names of the host's are not to be had. */
static void in_a_namespace(void **state)
{
	static const char *const mounts[] = { "31 20 0:27 / " CG " ro,nosuid - cgroup2 cgroup rw,nsdelegate\n",
		"31 20 0:27 / " CG " rw,nosuid - cgroup2 cgroup rw,nsdelegate\n" };

	(void)state;
	for (size_t i = 0; i < UP_COUNT(mounts); i++) {
		struct machine m;

		start(&m, mounts[i]);
		tree_cgroup(&m.tree, CG, "1\n");
		if (i == 1)
			tree_file(&m.tree, CG "/cgroup.events", "populated 1\nfrozen 0\n");
		tree_process(&m.tree, 1, "server", 1, "0::/\n");
		expect(&m, "/", "relative path", "/");
		expect(&m, "server", "process name", "/"); /* the container's own group, not the machine */
		expect_none(&m, "api", "'api' is not visible from this cgroup namespace");
		stop(&m);
	}
}

/* Other reasons why something is there and not found. */
static void hidden(void **state)
{
	struct machine m;

	(void)state;
	start(&m,
		"31 20 0:27 / " CG " rw - cgroup2 cgroup rw\n24 30 0:22 / /proc rw,relatime - proc proc rw,hidepid=invisible\n");
	expect_none(&m, "api", "hidepid=invisible");
	/* A second mount over the first is the one that is seen. */
	tree_file(&m.tree, "/proc/self/mountinfo",
		"31 20 0:27 / " CG " rw - cgroup2 cgroup rw\n24 30 0:22 / /proc rw - proc proc rw\n"
		"40 24 0:50 / /proc rw - proc proc rw,hidepid=2\n");
	expect_none(&m, "api", "hidepid=2");
	stop(&m);
	start(&m, "31 20 0:27 / " CG " rw - cgroup2 cgroup rw\n24 30 0:22 / /proc rw,relatime - proc proc rw,hidepid=0\n");
	assert_int_equal(look(&m, "api"), -ENOENT);
	assert_null(strstr(m.message, "hidepid"));
	assert_null(strstr(m.message, "not visible"));
	stop(&m);
	start(&m, "396 394 0:21 /docker/abc " CG "/cpu ro,nosuid - cgroup cgroup rw,cpu\n");
	tree_process(&m.tree, 7, "outside", 1, "2:cpu:/other\n");
	expect_none(&m, "api", "'api' is not visible from this");
	expect_none(&m, "outside", "--pid 7");
	stop(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_class),
		cmocka_unit_test(escapes),
		cmocka_unit_test(several_and_none),
		cmocka_unit_test(odd_names),
		cmocka_unit_test(in_a_namespace),
		cmocka_unit_test(hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
