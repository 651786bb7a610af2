/* Mounts and /proc/PID/cgroup. The mountinfo lines have the shape that kernels 4.18 to 6.18 write on the named systems. */
#include <errno.h>

#include "tree_helper.h"
#include "useprobe/target.h"

#define CG "/sys/fs/cgroup"
/* Fedora, Debian 12, Ubuntu 22.04 with systemd: v2 only. */
static const char v2_mounts[] = "24 30 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw\n"
				"35 25 0:30 / " CG " rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
				"60 30 0:55 / /mnt/with\\040blank rw - tmpfs none rw\n";
/* Ubuntu 18.04: controllers on v1, two of them mounted together, v2 without any. */
static const char hybrid_mounts[] = "30 21 0:25 / " CG " ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
				    "31 30 0:26 / " CG "/unified rw shared:10 - cgroup2 cgroup2 rw\n"
				    "32 30 0:27 / " CG "/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd\n"
				    "34 30 0:29 / " CG "/blkio rw shared:14 - cgroup cgroup rw,blkio\n"
				    "37 30 0:32 / " CG "/rdma rw shared:17 - cgroup cgroup rw,rdma\n"
				    "38 30 0:33 / " CG "/cpu,cpuacct rw shared:18 - cgroup cgroup rw,cpu,cpuacct\n"
				    "41 30 0:36 / " CG "/memory rw shared:21 - cgroup cgroup rw,memory\n"
				    "44 30 0:39 / " CG "/pids rw shared:24 - cgroup cgroup rw,pids\n";

static void read_from(struct tree *tree, const char *mountinfo, struct up_hierarchies *ret)
{
	tree_file(tree, "/proc/self/mountinfo", mountinfo);
	assert_int_equal(up_hierarchies_read(&tree->source, &tree->arena, ret), 0);
}

static const char *mount_of(const struct up_hierarchies *hierarchies, enum up_controller controller)
{
	const int h = hierarchies->owner[controller];

	return h < 0 ? "none" : hierarchies->items[h].mount;
}

static void v2_only(void **state)
{
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, CG "/cgroup.controllers", "cpuset cpu io memory pids\n");
	read_from(&tree, v2_mounts, &found);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.v2, 0);
	for (unsigned c = 0; c < UP_CTL_COUNT; c++)
		assert_string_equal(mount_of(&found, c), CG);
	tree_done(&tree);
}

/* A delegated container: what cgroup.controllers does not name is not there, except what every v2 cgroup has. */
static void v2_without_controllers(void **state)
{
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, CG "/cgroup.controllers", "memory\n");
	read_from(&tree, v2_mounts, &found);
	assert_string_equal(mount_of(&found, UP_CTL_CPU), "none");
	assert_string_equal(mount_of(&found, UP_CTL_IO), "none");
	assert_string_equal(mount_of(&found, UP_CTL_MEMORY), CG);
	assert_string_equal(mount_of(&found, UP_CTL_CPUACCT), CG);
	assert_string_equal(mount_of(&found, UP_CTL_FREEZER), CG);
	tree_done(&tree);
}

static void hybrid(void **state)
{
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, CG "/unified/cgroup.controllers", "\n");
	read_from(&tree, hybrid_mounts, &found);
	assert_string_equal(mount_of(&found, UP_CTL_CPU), CG "/cpu,cpuacct");
	assert_string_equal(mount_of(&found, UP_CTL_CPUACCT), CG "/cpu,cpuacct");
	assert_string_equal(mount_of(&found, UP_CTL_MEMORY), CG "/memory");
	assert_string_equal(mount_of(&found, UP_CTL_IO), CG "/blkio");
	assert_string_equal(mount_of(&found, UP_CTL_CPUSET), "none");
	assert_string_equal(mount_of(&found, UP_CTL_FREEZER), CG "/unified");
	assert_string_equal(found.items[found.v2].mount, CG "/unified");
	/* rdma is no controller of ours; systemd's named hierarchy is kept, without controllers. */
	assert_int_equal(found.count, 6);
	for (size_t i = 0; i < found.count; i++)
		assert_true(!found.items[i].named || found.items[i].controllers == 0);
	tree_done(&tree);
}

static void odd_mounts(void **state)
{
	static const struct {
		const char *why, *mountinfo, *cpu;
	} cases[] = {
		{ "name=cpu is no controller", "9 1 0:9 / /c rw - cgroup c rw,name=cpu\n8 1 0:8 / /m rw - cgroup c rw,memory\n",
			"none" },
		{ "blank in a mount point", "9 1 0:9 / /my\\040cpu\\011x rw - cgroup c rw,cpu\n", "/my cpu\tx" },
		{ "several optional fields", "9 1 0:9 / /c rw shared:1 master:2 propagate_from:3 - cgroup c rw,cpu\n", "/c" },
		{ "empty mount source", "9 1 0:9 / /c rw -  cgroup  rw,cpu\n", "/c" },
		{ "container's part, then all of it",
			"9 1 0:9 /docker/3f /a rw - cgroup c rw,cpu\n8 1 0:9 / /b rw - cgroup c rw,cpu\n", "/b" },
		{ "all of it, then a part", "8 1 0:9 / /b rw - cgroup c rw,cpu\n9 1 0:9 /docker/3f /a rw - cgroup c rw,cpu\n",
			"/b" },
		{ "above the namespace shows more", "8 1 0:9 / /b rw - cgroup c rw,cpu\n9 1 0:9 /../.. /a rw - cgroup c rw,cpu\n",
			"/a" },
		{ "removed directory", "8 1 0:9 /x//deleted /b rw - cgroup c rw,cpu\n9 1 0:9 /y /a rw - cgroup c rw,cpu\n",
			"/a" },
		{ "v1 freezer-like words", "8 1 0:9 / /b rw - cgroup c rw,cpuset,noprefix\n", "none" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct tree tree;
		struct up_hierarchies found;

		tree_init(&tree);
		tree_file(&tree, "/proc/self/mountinfo", cases[i].mountinfo);
		if (up_hierarchies_read(&tree.source, &tree.arena, &found) < 0)
			fail_msg("%s: not read", cases[i].why);
		if (strcmp(mount_of(&found, UP_CTL_CPU), cases[i].cpu) != 0)
			fail_msg("%s: %s", cases[i].why, mount_of(&found, UP_CTL_CPU));
		tree_done(&tree);
	}
}

/* Trees recorded by other tools hold /proc/mounts instead. */
static void plain_mounts(void **state)
{
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, "/proc/mounts",
		"overlay / overlay rw,lowerdir=/a:/b 0 0\ncgroup " CG "/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
		"cgroup " CG "/memory cgroup rw,memory 0 0\n");
	assert_int_equal(up_hierarchies_read(&tree.source, &tree.arena, &found), 0);
	assert_string_equal(mount_of(&found, UP_CTL_CPU), CG "/cpu,cpuacct");
	assert_string_equal(mount_of(&found, UP_CTL_MEMORY), CG "/memory");
	/* Without the last newline: whole when both numbers at the end are there. */
	tree_file(&tree, "/proc/mounts", "cgroup " CG "/cpu cgroup rw,cpu 0 0\ncgroup " CG "/memory cgroup rw,memory 0 0");
	assert_int_equal(up_hierarchies_read(&tree.source, &tree.arena, &found), 0);
	assert_string_equal(mount_of(&found, UP_CTL_MEMORY), CG "/memory");
	tree_file(&tree, "/proc/mounts", "cgroup " CG "/cpu cgroup rw,cpu 0 0\ncgroup " CG "/memory cgroup rw,memory 0 ");
	assert_int_equal(up_hierarchies_read(&tree.source, &tree.arena, &found), -EBADMSG);
	tree_file(&tree, "/proc/mounts", "");
	assert_int_equal(up_hierarchies_read(&tree.source, &tree.arena, &found), -ENOENT);
	tree_remove(&tree, "/proc/mounts");
	assert_int_equal(up_hierarchies_read(&tree.source, &tree.arena, &found), -ENOENT);
	tree_done(&tree);
}

/* Every prefix is an error, or what its whole lines say. */
static void cut_mountinfo(void **state)
{
	struct tree tree;
	const size_t len = strlen(hybrid_mounts);
	char text[sizeof(hybrid_mounts)];

	(void)state;
	tree_init(&tree);
	for (size_t n = 0; n <= len; n++) {
		struct up_hierarchies found;
		size_t lines = 0;
		int r;

		memcpy(text, hybrid_mounts, n);
		text[n] = '\0';
		for (size_t i = 0; i < n; i++)
			lines += text[i] == '\n';
		tree_file(&tree, "/proc/self/mountinfo", text);
		up_arena_reset(&tree.arena);
		r = up_hierarchies_read(&tree.source, &tree.arena, &found);
		if (n > 0 && text[n - 1] != '\n')
			assert_int_equal(r, -EBADMSG);
		else
			assert_int_equal(r, lines < 2 ? -ENOENT : 0);
		if (r == 0) /* the first line is a tmpfs, the fifth another controller */
			assert_int_equal(found.count, lines < 5 ? lines - 1 : lines - 2);
	}
	tree_done(&tree);
}

static const char *path_of(
	struct tree *tree, const struct up_hierarchies *hierarchies, enum up_controller controller, const char *text)
{
	struct up_pid_cgroups paths;
	bool cut;
	const int h = controller == UP_CTL_COUNT ? hierarchies->v2 : hierarchies->owner[controller];

	if (up_pid_cgroups_parse(text, &tree->arena, hierarchies, &paths, &cut) < 0)
		return "malformed";
	return h < 0 ? "no hierarchy" : paths.path[h] ? paths.path[h] : "not visible";
}

static void process_lines(void **state)
{
	static const struct {
		const char *why, *text;
		enum up_controller controller; /* UP_CTL_COUNT = v2 */
		const char *want;
	} cases[] = {
		{ "co-mounted", "7:cpu,cpuacct:/real\n6:memory:/other\n", UP_CTL_CPUACCT, "/real" },
		{ "each controller its own path", "7:cpu,cpuacct:/real\n6:memory:/other\n", UP_CTL_MEMORY, "/other" },
		{ "colons in the path", "6:cpu,cpuacct:/kube.slice:cri-containerd:abc\n", UP_CTL_CPU,
			"/kube.slice:cri-containerd:abc" },
		{ "named before real", "9:name=cpu:/wrong\n8:name=systemd:/wrong2\n7:cpu,cpuacct:/real\n0::/\n", UP_CTL_CPU,
			"/real" },
		{ "named only", "9:name=cpu:/wrong\n", UP_CTL_CPU, "not visible" },
		{ "unknown controllers", "1:net_cls:/\n2:misc:/x\n3:cpu,cpuacct:/a b\n", UP_CTL_CPU, "/a b" },
		{ "v2 line", "3:cpu,cpuacct:/a\n0::/sys.slice/api.service\n", UP_CTL_COUNT, "/sys.slice/api.service" },
		{ "blkio is io", "3:blkio:/a\n", UP_CTL_IO, "/a" },
		{ "outside the namespace", "0::/../other\n", UP_CTL_COUNT, "not visible" },
		{ "two dots in a name are a name", "0::/a..b/..c\n", UP_CTL_COUNT, "/a..b/..c" },
		{ "no path", "0::\n", UP_CTL_COUNT, "malformed" },
		{ "no colon", "0\n", UP_CTL_COUNT, "malformed" },
		{ "relative", "0::api\n", UP_CTL_COUNT, "malformed" },
		{ "no number", "x::/api\n", UP_CTL_COUNT, "malformed" },
	};
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	tree_file(&tree, CG "/unified/cgroup.controllers", "\n");
	read_from(&tree, hybrid_mounts, &found);
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		const char *got = path_of(&tree, &found, cases[i].controller, cases[i].text);

		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].why, got);
	}
	tree_done(&tree);
}

/* Field 4 of mountinfo is cut off the front of the path. */
static void mount_roots(void **state)
{
	static const struct {
		const char *why, *root, *line, *want;
	} cases[] = {
		{ "container without cgroup namespace", "/docker/abc", "2:cpu:/docker/abc\n", "/" },
		{ "child of it", "/docker/abc", "2:cpu:/docker/abc/child\n", "/child" },
		{ "neighbour with the same beginning", "/docker/abc", "2:cpu:/docker/abcd\n", "not visible" },
		{ "host process seen from the container", "/docker/abc", "2:cpu:/\n", "not visible" },
		{ "host's mount in a namespace", "/../..", "2:cpu:/../../user.slice\n", "/user.slice" },
		{ "own path there has no name", "/../..", "2:cpu:/\n", "not visible" },
		{ "above the mount", "/..", "2:cpu:/../../a\n", "not visible" },
		{ "namespace's own root, place unknown", "/..", "2:cpu:/a\n", "not visible" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct tree tree;
		struct up_hierarchies found;
		char mountinfo[256];

		tree_init(&tree);
		snprintf(mountinfo, sizeof(mountinfo), "396 394 0:21 %s " CG "/cpu ro - cgroup cgroup rw,cpu\n", cases[i].root);
		read_from(&tree, mountinfo, &found);
		if (strcmp(path_of(&tree, &found, UP_CTL_CPU, cases[i].line), cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].why, path_of(&tree, &found, UP_CTL_CPU, cases[i].line));
		tree_done(&tree);
	}
}

/* A container with the host's mounts: where its namespace begins below the mount was found, so relative paths have a place. */
static void above_the_namespace(void **state)
{
	static const struct {
		const char *why, *line, *want;
	} cases[] = {
		{ "own group", "2:cpu:/\n", "/system.slice/docker-abc.scope" },
		{ "child", "2:cpu:/x\n", "/system.slice/docker-abc.scope/x" },
		{ "neighbour", "2:cpu:/../api.service\n", "/system.slice/api.service" },
		{ "elsewhere", "2:cpu:/../../user.slice/a\n", "/user.slice/a" },
		{ "the top", "2:cpu:/../..\n", "/" },
		{ "above the top", "2:cpu:/../../..\n", "not visible" },
	};
	struct tree tree;
	struct up_hierarchies found;

	(void)state;
	tree_init(&tree);
	read_from(&tree, "396 394 0:21 /../.. " CG "/cpu ro - cgroup cgroup rw,cpu\n", &found);
	assert_string_equal(found.items[0].ns, ""); /* who reads a recorded tree is not in it */
	snprintf(found.items[0].ns, sizeof(found.items[0].ns), "/system.slice/docker-abc.scope");
	for (size_t i = 0; i < UP_COUNT(cases); i++)
		if (strcmp(path_of(&tree, &found, UP_CTL_CPU, cases[i].line), cases[i].want) != 0)
			fail_msg("%s: %s", cases[i].why, path_of(&tree, &found, UP_CTL_CPU, cases[i].line));
	tree_done(&tree);
}

static void process_stat(void **state)
{
	static const struct {
		const char *why, *text, *name;
		unsigned long long start;
	} cases[] = {
		{ "plain", "12 (nginx) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n", "nginx", 777 },
		{ "brackets", "12 (a) S 1 (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n", "a) S 1 (b", 777 },
		{ "newline", "12 (two\nline) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20\n", "two\nline", 777 },
		{ "negative fields", "12 (a) S 1 2 3 -1 5 6 7 8 9 10 11 12 13 14 -15 16 17 18 777 20\n", "a", 777 },
		{ "cut", "12 (a) S 1 2 3 -1 5 6 7 8 9 10 11 12 13 14 15 16 17 18 77", NULL, 0 },
		{ "no name", "12 a S 1 2\n", NULL, 0 },
		{ "too few", "12 (a) S 1 2\n", NULL, 0 },
	};
	struct tree tree;

	(void)state;
	tree_init(&tree);
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		char name[UP_COMM_MAX];
		uint64_t start = 0;
		int r;

		tree_file(&tree, "/proc/12/stat", cases[i].text);
		r = up_pid_stat(&tree.source, &tree.arena, 12, name, &start);
		if (r != (cases[i].name ? 0 : -EBADMSG))
			fail_msg("%s: result %d", cases[i].why, r);
		if (r == 0 && (strcmp(name, cases[i].name) != 0 || start != cases[i].start))
			fail_msg("%s: %s %llu", cases[i].why, name, (unsigned long long)start);
	}
	assert_int_equal(up_pid_stat(&tree.source, &tree.arena, 13, NULL, &(uint64_t){ 0 }), -ESRCH);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v2_only),
		cmocka_unit_test(v2_without_controllers),
		cmocka_unit_test(hybrid),
		cmocka_unit_test(odd_mounts),
		cmocka_unit_test(plain_mounts),
		cmocka_unit_test(cut_mountinfo),
		cmocka_unit_test(process_lines),
		cmocka_unit_test(mount_roots),
		cmocka_unit_test(above_the_namespace),
		cmocka_unit_test(process_stat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
