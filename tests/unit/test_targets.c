/* Targets: one name in every hierarchy, ancestors, processes, restarts. */
#include <errno.h>
#include <unistd.h>

#include "tree_helper.h"
#include "useprobe/target.h"

#define CG "/sys/fs/cgroup"
static const char hybrid_mounts[] = "31 30 0:26 / " CG "/unified rw - cgroup2 cgroup2 rw\n"
				    "32 30 0:27 / " CG "/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
				    "38 30 0:33 / " CG "/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
				    "41 30 0:36 / " CG "/memory rw - cgroup cgroup rw,memory\n";
static const char v2_mounts[] = "35 25 0:30 / " CG " rw - cgroup2 cgroup2 rw,nsdelegate\n";

struct machine {
	struct tree tree;
	struct up_targets targets;
	char message[1024];
};

static void start(struct machine *machine, const char *mountinfo)
{
	tree_init(&machine->tree);
	tree_file(&machine->tree, "/proc/self/mountinfo", mountinfo);
	if (mountinfo == hybrid_mounts)
		tree_file(&machine->tree, CG "/unified/cgroup.controllers", "\n");
	assert_int_equal(up_targets_init(&machine->targets, &machine->tree.source, &machine->tree.arena), 0);
}

static int add(struct machine *machine, const char *name, bool wait)
{
	machine->message[0] = '\0';
	return up_targets_add_name(&machine->targets, &machine->tree.source, &machine->tree.arena, name, wait, machine->message,
		sizeof(machine->message));
}

static void stop(struct machine *machine)
{
	up_targets_done(&machine->targets);
	tree_done(&machine->tree);
}

static const char *dir(const struct machine *machine, enum up_controller controller, unsigned up)
{
	static char text[UP_PATH_MAX];
	bool v2;

	return up_target_dir(&machine->targets.items[0], controller, up, text, sizeof(text), &v2) ? text : "none";
}

static const char *ancestor(const struct machine *machine, unsigned up)
{
	static char text[UP_PATH_MAX];

	return up_target_ancestor_label(&machine->targets.items[0], UP_CTL_CPU, up, text, sizeof(text)) ? text : "none";
}

/* The cpu controller is on v1, so v1 decides, though the v2 line exists too. */
static void hybrid_service(void **state)
{
	struct machine m;
	char text[UP_PATH_MAX];

	(void)state;
	start(&m, hybrid_mounts);
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/system.slice/api.service", "10\n");
	tree_cgroup(&m.tree, CG "/memory/system.slice/api.service", "10\n");
	tree_cgroup(&m.tree, CG "/unified/system.slice/api.service", "10\n");
	tree_process(&m.tree, 10, "api", 1,
		"7:cpu,cpuacct:/system.slice/api.service\n6:memory:/system.slice/api.service\n0::/system.slice/api.service\n");
	assert_int_equal(add(&m, "api", false), 0);
	assert_string_equal(m.targets.items[0].label, "/system.slice/api.service");
	assert_string_equal(m.targets.items[0].name, "api");
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), CG "/cpu,cpuacct/system.slice/api.service");
	assert_string_equal(dir(&m, UP_CTL_MEMORY, 0), CG "/memory/system.slice/api.service");
	assert_string_equal(dir(&m, UP_CTL_PIDS, 0), "none");
	assert_true(up_target_v2_dir(&m.targets.items[0], 0, text, sizeof(text)));
	assert_string_equal(text, CG "/unified/system.slice/api.service");
	assert_string_equal(dir(&m, UP_CTL_CPU, 1), CG "/cpu,cpuacct/system.slice");
	assert_string_equal(dir(&m, UP_CTL_CPU, 2), CG "/cpu,cpuacct");
	assert_string_equal(dir(&m, UP_CTL_CPU, 3), "none");
	assert_string_equal(ancestor(&m, 0), "/system.slice/api.service");
	assert_string_equal(ancestor(&m, 1), "/system.slice");
	assert_string_equal(ancestor(&m, 2), "/");
	assert_string_equal(ancestor(&m, 3), "none");
	stop(&m);
}

/* A group that exists in the cpu hierarchy alone: the memory of its processes is booked with strangers, so it is not the target's. */
static void shared_group_is_not_taken(void **state)
{
	struct machine m;

	(void)state;
	start(&m, hybrid_mounts);
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/api", "10\n");
	tree_cgroup(&m.tree, CG "/memory/login", "9\n10\n");
	tree_cgroup(&m.tree, CG "/unified", "9\n10\n");
	tree_process(&m.tree, 9, "bash", 1, "7:cpu,cpuacct:/\n6:memory:/login\n0::/\n");
	tree_process(&m.tree, 10, "api", 1, "7:cpu,cpuacct:/api\n6:memory:/login\n0::/\n");
	assert_int_equal(add(&m, "/api", false), 0);
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), CG "/cpu,cpuacct/api");
	assert_string_equal(dir(&m, UP_CTL_MEMORY, 0), "none");
	assert_null(m.targets.items[0].cgroup.path[m.targets.hierarchies.v2]);
	stop(&m);
}

/* Other paths on other hierarchies, held by this group alone: they are its own. */
static void own_group_elsewhere_is_taken(void **state)
{
	struct machine m;

	(void)state;
	start(&m, hybrid_mounts);
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/api/worker", "10\n11\n");
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/api", "");
	tree_cgroup(&m.tree, CG "/memory/big/api/worker", "10\n11\n99\n"); /* 99 has ended */
	tree_cgroup(&m.tree, CG "/memory/big/api", "");
	tree_process(&m.tree, 10, "api", 1, "7:cpu,cpuacct:/api/worker\n6:memory:/big/api/worker\n0::/\n");
	tree_process(&m.tree, 11, "api", 1, "7:cpu,cpuacct:/api/worker\n6:memory:/big/api/worker\n0::/\n");
	assert_int_equal(add(&m, "/api", false), 0);
	assert_string_equal(dir(&m, UP_CTL_MEMORY, 0), CG "/memory/big/api");
	stop(&m);
}

static void empty_group(void **state)
{
	struct machine m;
	pid_t *pids;
	size_t count = 7;

	(void)state;
	start(&m, hybrid_mounts);
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/api", "");
	tree_cgroup(&m.tree, CG "/memory/api", "");
	assert_int_equal(add(&m, "api", false), 0);
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), CG "/cpu,cpuacct/api");
	assert_string_equal(dir(&m, UP_CTL_MEMORY, 0), CG "/memory/api");
	assert_int_equal(up_target_pids(&m.targets.items[0], &m.tree.source, &m.tree.arena, &pids, &count), 0);
	assert_int_equal(count, 0);
	stop(&m);
}

/* A container engine's v1 path and the v2 scope of the same processes are one target, not two candidates. */
static void one_group_two_paths(void **state)
{
	struct machine m;

	(void)state;
	start(&m, hybrid_mounts);
	tree_cgroup(&m.tree, CG "/cpu,cpuacct/lxc/box", "10\n");
	tree_cgroup(&m.tree, CG "/memory/lxc/box", "10\n");
	tree_cgroup(&m.tree, CG "/unified/lxc.payload/box", "10\n");
	tree_process(&m.tree, 10, "init", 1, "7:cpu,cpuacct:/lxc/box\n6:memory:/lxc/box\n0::/lxc.payload/box\n");
	assert_int_equal(add(&m, "box", false), 0);
	assert_int_equal(m.targets.count, 1);
	assert_string_equal(m.targets.items[0].label, "/lxc/box");
	assert_string_equal(m.targets.items[0].cgroup.path[m.targets.hierarchies.v2], "/lxc.payload/box");
	stop(&m);
}

static void inside_a_container(void **state)
{
	struct machine m;

	(void)state;
	start(&m, "396 394 0:21 /docker/abc " CG "/cpu ro,nosuid - cgroup cgroup rw,cpu\n");
	tree_cgroup(&m.tree, CG "/cpu/child", "12\n");
	tree_process(&m.tree, 12, "api", 1, "2:cpu:/docker/abc/child\n");
	assert_int_equal(add(&m, "/docker/abc", false), 0);
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), CG "/cpu");
	assert_string_equal(m.targets.items[0].label, "/docker/abc");
	assert_string_equal(ancestor(&m, 1), "none");
	assert_int_equal(add(&m, "api", false), 0);
	assert_string_equal(m.targets.items[1].label, "/docker/abc/child");
	stop(&m);
}

static void processes_below(void **state)
{
	static const pid_t want[] = { 3, 7, 20, 21, 30 };
	struct machine m;
	pid_t *pids;
	size_t count;

	(void)state;
	start(&m, v2_mounts);
	tree_cgroup(&m.tree, CG "/api", "20\n7\n7\n0\n"); /* v1 may repeat; 0 = outside this pid namespace */
	tree_cgroup(&m.tree, CG "/api/a", "21\n");
	tree_cgroup(&m.tree, CG "/api/a/deep", "3\n");
	tree_cgroup(&m.tree, CG "/api/b", "30\n");
	tree_dir(&m.tree, CG "/api/going"); /* its files are gone already */
	assert_int_equal(add(&m, "api", false), 0);
	assert_int_equal(up_target_pids(&m.targets.items[0], &m.tree.source, &m.tree.arena, &pids, &count), 0);
	assert_int_equal(count, UP_COUNT(want));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pids[i], want[i]);
	tree_file(&m.tree, CG "/api/a/cgroup.procs", "21\n2x\n");
	assert_int_equal(up_target_pids(&m.targets.items[0], &m.tree.source, &m.tree.arena, &pids, &count), -EBADMSG);
	stop(&m);
}

static void candidates_are_listed(void **state)
{
	struct machine m;

	(void)state;
	start(&m, v2_mounts);
	for (const char *parent = "gcfbeahd"; *parent; parent++) {
		char dir[64];

		snprintf(dir, sizeof(dir), CG "/%c/api", *parent);
		tree_cgroup(&m.tree, dir, "");
	}
	assert_int_equal(add(&m, "api", false), -ENOTUNIQ);
	assert_int_equal(m.targets.count, 0);
	for (char parent = 'b'; parent <= 'h'; parent++) { /* in order */
		const char before[] = { '/', (char)(parent - 1), '/', '\0' }, after[] = { '/', parent, '/', '\0' };

		assert_true(strstr(m.message, before) < strstr(m.message, after));
	}
	assert_non_null(strstr(m.message, "/a/api"));
	assert_non_null(strstr(m.message, "/b/api"));
	assert_int_equal(add(&m, "a/api", false), 0);
	assert_int_equal(add(&m, "a/api", false), 0); /* the same name again is no second target */
	assert_int_equal(m.targets.count, 1);
	assert_int_equal(add(&m, "/a/api", false), -EEXIST);
	assert_int_equal(add(&m, "b/api", false), 0);
	assert_int_equal(m.targets.count, 2);
	stop(&m);
}

static void too_many(void **state)
{
	struct machine m;
	char name[32], path[64];

	(void)state;
	start(&m, v2_mounts);
	for (int i = 0; i <= UP_TARGETS_MAX; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		snprintf(path, sizeof(path), CG "/%s", name);
		tree_cgroup(&m.tree, path, "");
		assert_int_equal(add(&m, name, false), i < UP_TARGETS_MAX ? 0 : -ENOSPC);
	}
	assert_int_equal(m.targets.count, UP_TARGETS_MAX);
	stop(&m);
}

static void gone_and_back(void **state)
{
	struct machine m;
	struct up_target *target = &m.targets.items[0];
	char text[64];

	(void)state;
	start(&m, v2_mounts);
	tree_cgroup(&m.tree, CG "/system.slice/api.service", "");
	assert_int_equal(add(&m, "api", false), 0);
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_remove(&m.tree, CG "/system.slice/api.service");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_GONE);
	assert_false(target->present);
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	/* Another class would match now; the name stood for a unit, so it goes on standing for one. */
	tree_cgroup(&m.tree, CG "/api", "");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	/* It comes back elsewhere. */
	tree_cgroup(&m.tree, CG "/other.slice/api.service", "");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_BACK);
	assert_true(target->present);
	assert_int_equal(target->generation, 1);
	assert_string_equal(target->label, "/other.slice/api.service");
	assert_true(up_target_v2_dir(target, 0, text, sizeof(text)));
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	stop(&m);
}

/* Removed and made again between two looks: only the inode tells. */
static void made_again(void **state)
{
	struct machine m;
	struct up_target *target = &m.targets.items[0];

	(void)state;
	start(&m, v2_mounts);
	tree_cgroup(&m.tree, CG "/api", "");
	assert_int_equal(add(&m, "api", false), 0);
	m.tree.source.recorded = false; /* frames of a recorded tree are other files anyway, so they are not compared */
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_cgroup(&m.tree, CG "/new", "");
	tree_remove(&m.tree, CG "/api");
	tree_cgroup(&m.tree, CG "/api", "");
	target->inode++; /* a file system may give the number out again at once */
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_BACK);
	assert_int_equal(target->generation, 1);
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	stop(&m);
}

/* Refreshes until CHANGE; a thread looks, so it takes a moment. How many ticks it took, 0 = never. */
static int refresh_until(struct machine *machine, enum up_target_change change)
{
	for (int i = 1; i < 500; i++) {
		if (up_target_refresh(&machine->targets.items[0], &machine->tree.source, &machine->tree.arena) == change)
			return i;
		usleep(10000);
	}
	return 0;
}

/* On the live machine the long searches run in a thread: a tick never waits for one. */
static void found_by_the_thread(void **state)
{
	struct machine m;
	struct up_target *target = &m.targets.items[0];

	(void)state;
	start(&m, v2_mounts);
	tree_cgroup(&m.tree, CG "/system.slice/api.service", "");
	assert_int_equal(add(&m, "api", false), 0);
	m.tree.source.recorded = false;
	/* Two others of the name, both there before the thread starts: nobody can say which is meant. */
	tree_cgroup(&m.tree, CG "/a.slice/api.service", "");
	tree_cgroup(&m.tree, CG "/b.slice/api.service", "");
	tree_remove(&m.tree, CG "/system.slice/api.service");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_GONE);
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	usleep(200000);
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_remove(&m.tree, CG "/a.slice/api.service");
	assert_true(refresh_until(&m, UP_TARGET_BACK) > 0);
	assert_string_equal(target->label, "/b.slice/api.service");
	assert_null(target->relookup);
	/* Gone again, and back at its place before the thread has looked: the tick sees that itself, and the thread is let go. */
	tree_remove(&m.tree, CG "/b.slice/api.service");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_GONE);
	tree_cgroup(&m.tree, CG "/b.slice/api.service", "");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_BACK);
	for (int i = 0; i < 500 && target->relookup; i++) {
		assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
		usleep(10000);
	}
	assert_null(target->relookup);
	/* A third time, while that thread may be ending. */
	tree_remove(&m.tree, CG "/b.slice/api.service");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_GONE);
	tree_cgroup(&m.tree, CG "/c.slice/api.service", "");
	assert_true(refresh_until(&m, UP_TARGET_BACK) > 0);
	assert_int_equal(target->generation, 3);
	stop(&m);
}

static void waited_for_live(void **state)
{
	struct machine m;

	(void)state;
	start(&m, v2_mounts);
	m.tree.source.recorded = false;
	/* A name that no process or container on the machine that runs this can have. */
	assert_int_equal(add(&m, "useprobe-test-nobody", true), 0);
	assert_int_equal(up_target_refresh(&m.targets.items[0], &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_cgroup(&m.tree, CG "/deep/useprobe-test-nobody", "");
	assert_true(refresh_until(&m, UP_TARGET_BACK) > 0);
	assert_string_equal(m.targets.items[0].label, "/deep/useprobe-test-nobody");
	stop(&m);
	/* Ending while the thread looks. */
	start(&m, v2_mounts);
	m.tree.source.recorded = false;
	assert_int_equal(add(&m, "useprobe-test-nobody", true), 0);
	assert_int_equal(up_target_refresh(&m.targets.items[0], &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	stop(&m);
}

static void waited_for(void **state)
{
	struct machine m;
	struct up_target *target = &m.targets.items[0];

	(void)state;
	start(&m, v2_mounts);
	assert_int_equal(add(&m, "api", true), 0);
	assert_false(target->present);
	assert_string_equal(target->label, "api");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_cgroup(&m.tree, CG "/pods/api", "");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_BACK);
	assert_int_equal(target->generation, 0);
	assert_string_equal(target->label, "/pods/api");
	stop(&m);
}

static void process_target(void **state)
{
	struct machine m;
	struct up_target *target = &m.targets.items[0];
	pid_t *pids;
	size_t count;

	(void)state;
	start(&m, v2_mounts);
	tree_cgroup(&m.tree, CG "/api", "12\n13\n");
	tree_process(&m.tree, 12, "x) S 1 (y", 777, "0::/api\n");
	assert_int_equal(up_targets_add_pid(&m.targets, &m.tree.source, &m.tree.arena, 99, m.message, sizeof(m.message)), -ESRCH);
	assert_non_null(strstr(m.message, "99"));
	assert_int_equal(up_targets_add_pid(&m.targets, &m.tree.source, &m.tree.arena, 12, m.message, sizeof(m.message)), 0);
	assert_string_equal(target->label, "x) S 1 (y[12]");
	assert_int_equal(target->pid_start_ticks, 777);
	assert_int_equal(up_target_pids(target, &m.tree.source, &m.tree.arena, &pids, &count), 0);
	assert_int_equal(count, 1); /* its group's other processes are context */
	assert_int_equal(pids[0], 12);
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), CG "/api");
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_SAME);
	tree_process(&m.tree, 12, "other", 888, "0::/api\n"); /* the number was given to another process */
	assert_int_equal(up_target_refresh(target, &m.tree.source, &m.tree.arena), UP_TARGET_GONE);
	assert_int_equal(up_target_pids(target, &m.tree.source, &m.tree.arena, &pids, &count), -ENOENT);
	stop(&m);
}

static void without_cgroups(void **state)
{
	struct machine m;

	(void)state;
	tree_init(&m.tree);
	tree_file(&m.tree, "/proc/self/mountinfo", "1 1 0:1 / / rw - ext4 /dev/sda rw\n");
	tree_process(&m.tree, 12, "api", 1, "");
	assert_int_equal(up_targets_init(&m.targets, &m.tree.source, &m.tree.arena), -ENOENT);
	assert_int_equal(add(&m, "api", false), -ENOENT);
	assert_non_null(strstr(m.message, "no cgroup file system"));
	assert_int_equal(up_targets_add_pid(&m.targets, &m.tree.source, &m.tree.arena, 12, m.message, sizeof(m.message)), 0);
	assert_string_equal(dir(&m, UP_CTL_CPU, 0), "none");
	stop(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hybrid_service),
		cmocka_unit_test(shared_group_is_not_taken),
		cmocka_unit_test(own_group_elsewhere_is_taken),
		cmocka_unit_test(empty_group),
		cmocka_unit_test(one_group_two_paths),
		cmocka_unit_test(inside_a_container),
		cmocka_unit_test(processes_below),
		cmocka_unit_test(candidates_are_listed),
		cmocka_unit_test(too_many),
		cmocka_unit_test(gone_and_back),
		cmocka_unit_test(made_again),
		cmocka_unit_test(found_by_the_thread),
		cmocka_unit_test(waited_for),
		cmocka_unit_test(waited_for_live),
		cmocka_unit_test(process_target),
		cmocka_unit_test(without_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
