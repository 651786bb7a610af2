/* What container runtimes tell, on answers recorded from Docker 20.10 and Podman 4.3 (tests/fixtures/target_containers/README), and the
 * way from there to a cgroup. */
#include <errno.h>
#include <stdlib.h>

#include "tree_helper.h"
#include "useprobe/container.h"
#include "useprobe/target.h"

#define DIR_PREFIX FIXTURES "target_containers/"
#define CG "/sys/fs/cgroup"
#define API "07675b44d5b41d2800c662a772be3fa52985073b2e795230f8274c16421ebefc"
#define SHOP "cce741d6dc0b6c6f72bae60f5f279fde49f5d01fc90848efe917e77c0e1d28d9"
#define VOLA "966f4aad18c1d27bfc1dfa24c01c4576a3af486295dc8c392c423dcfe4c56cad"
#define POD "8d2f1c3a-1111-2222-3333-444455556666"
#define POD_ "8d2f1c3a_1111_2222_3333_444455556666"

/* A recorded answer in whole, NUL-terminated. */
static char *answer(const char *name, size_t *ret_len)
{
	char path[256];
	char *text = calloc(1, 65536);
	FILE *file;

	snprintf(path, sizeof(path), DIR_PREFIX "%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(text);
	*ret_len = fread(text, 1, 65535, file);
	fclose(file);
	return text;
}

static void parse_file(const char *name, bool storage, struct up_containers *ret)
{
	size_t len;
	char *text = answer(name, &len);

	assert_int_equal(storage ? up_containers_parse_storage(text, len, ret) : up_containers_parse(text, len, 0, ret), 0);
	free(text);
}

static void docker_answer(void **state)
{
	static const struct {
		const char *name, *first;
		size_t count;
		bool all;
		const char *why;
	} cases[] = {
		{ "api", "api", 1, false, "a name" },
		{ "shop_web_2", "shop_web_2", 1, false, "a paused replica by its name" },
		{ "07675b44d5b4", "api", 1, false, "an id prefix" },
		{ API, "api", 1, false, "a whole id" },
		{ "076", "", 0, false, "less than 4 digits is no id" },
		{ "07675B44", "", 0, false, "ids are written small" },
		{ "/api", "", 0, false, "the slash is the API's" },
		{ "ap", "", 0, false, "names are whole" },
		{ "web", "other_web_1", 3, false, "a service in two projects is ambiguous" },
		{ "", "", 0, false, "nothing means nothing, though unlabelled containers have that service" },
		{ "done1", "", 0, false, "ended ones are not in this answer" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_containers found = { 0 };

		parse_file("docker_list.json", false, &found);
		assert_int_equal(found.count, 5);
		up_containers_select(&found, cases[i].name);
		if (found.count != cases[i].count || found.all != cases[i].all)
			fail_msg("%s: %zu, all %d", cases[i].why, found.count, found.all);
		if (found.count && strcmp(found.items[0].name, cases[i].first) != 0)
			fail_msg("%s: %s", cases[i].why, found.items[0].name);
		up_containers_done(&found);
	}
}

static void states_and_services(void **state)
{
	struct up_containers found = { 0 };

	(void)state;
	parse_file("docker_list_all.json", false, &found);
	up_containers_select(&found, "done1");
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].state, "exited");
	up_containers_done(&found);
	parse_file("docker_list.json", false, &found);
	/* Without the other project's, the two replicas are one target each. */
	for (size_t i = 0; i < found.count; i++)
		if (strcmp(found.items[i].name, "other_web_1") == 0)
			found.items[i].service[0] = '\0';
	up_containers_select(&found, "web");
	assert_int_equal(found.count, 2);
	assert_true(found.all);
	assert_string_equal(found.items[0].project, "shop");
	assert_string_equal(found.items[0].state, "paused");
	up_containers_done(&found);
}

static void podman_answers(void **state)
{
	struct up_containers found = { 0 };

	(void)state;
	parse_file("podman_list.json", false, &found);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.items[0].name, "vola");
	assert_string_equal(found.items[0].service, "web");
	/* The storage file knows the same two: they are not counted twice. */
	parse_file("podman_storage.json", true, &found);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[1].daemon, 0);
	up_containers_done(&found);
	parse_file("podman_storage.json", true, &found);
	up_containers_select(&found, "shop");
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].id, SHOP);
	assert_int_equal(found.items[0].daemon, -1);
	up_containers_done(&found);
}

static void odd_lists(void **state)
{
	static const struct {
		const char *json, *name; /* of the one container; NULL = none is taken */
		const char *why;
	} cases[] = {
		{ "[]", NULL, "empty" },
		{ "[{\"Id\":\"" API "\",\"Names\":[\"/other/db\",\"/db\"],\"Labels\":null}]", "db", "a link is no name" },
		{ "[{\"Id\":\"" API "\",\"Names\":null}]", "", "without a name" },
		{ "[{\"Id\":\"" API "\",\"Names\":[\"/we\\u001b[31mird\"]}]", "we\x1b[31mird", "bytes are kept" },
		{ "[{\"Id\":\"../../etc\",\"Names\":[\"/x\"]}]", NULL, "what is no id would become part of a URL" },
		{ "[{\"Id\":\"abcdef\",\"Names\":[\"/x\"]}]", NULL, "too short to be an id" },
		{ "[{\"Names\":[\"/x\"]},7,null]", NULL, "without an id" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		struct up_containers found = { 0 };

		assert_int_equal(up_containers_parse(cases[i].json, strlen(cases[i].json), 0, &found), 0);
		if (found.count != (cases[i].name != NULL) || (cases[i].name && strcmp(found.items[0].name, cases[i].name) != 0))
			fail_msg("%s", cases[i].why);
		up_containers_done(&found);
	}
}

static void every_prefix_is_refused(void **state)
{
	static const char *const files[] = { "docker_list.json", "podman_list.json", "podman_storage.json" };

	(void)state;
	for (size_t f = 0; f < UP_COUNT(files); f++) {
		size_t len;
		char *text = answer(files[f], &len);

		for (size_t n = 0; n < len - 1; n++) { /* the last byte is the newline behind the list */
			struct up_containers found = { 0 };

			if (up_containers_parse(text, n, 0, &found) != -EBADMSG ||
				up_containers_parse_storage(text, n, &found) != -EBADMSG)
				fail_msg("%s: prefix of %zu bytes", files[f], n);
			up_containers_done(&found);
		}
		free(text);
	}
}

static void pids(void **state)
{
	static const struct {
		const char *file;
		pid_t pid;
	} cases[] = { { "docker_inspect.json", 23514 }, { "docker_inspect_exited.json", 0 }, { "podman_inspect.json", 24327 } };
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		size_t len;
		char *text = answer(cases[i].file, &len);

		assert_int_equal(up_container_parse_pid(text, len, &pid), 0);
		assert_int_equal(pid, cases[i].pid);
		for (size_t n = 0; n < len - 1; n++)
			assert_int_equal(up_container_parse_pid(text, n, &pid), -EBADMSG);
		free(text);
	}
	assert_int_equal(up_container_parse_pid("{}", 2, &pid), -EBADMSG);
	assert_int_equal(up_container_parse_pid("{\"State\":{\"Pid\":\"1\"}}", 21, &pid), -EBADMSG);
	assert_int_equal(up_container_parse_pid("{\"State\":{\"Pid\":-1}}", 20, &pid), -EBADMSG);
}

/* Paths as the engines make them (cgroupfs and systemd as manager, rootless, nested, an init of its own inside). */
static void own_group(void **state)
{
	static const struct {
		const char *path, *want, *why;
	} cases[] = {
		{ "/docker/" API, "/docker/" API, "Docker, cgroupfs" },
		{ "/system.slice/docker-" API ".scope", "/system.slice/docker-" API ".scope", "Docker, systemd" },
		{ "/system.slice/docker-" API ".scope/init.scope", "/system.slice/docker-" API ".scope", "systemd runs inside" },
		{ "/docker/" API "/a/b", "/docker/" API, "groups made inside are the container's" },
		{ "/system.slice/docker.service/docker/" API, "/system.slice/docker.service/docker/" API, "below the daemon" },
		{ "/docker/" SHOP "/docker/" API, "/docker/" SHOP "/docker/" API, "docker in docker" },
		{ "/machine.slice/libpod-" API ".scope/container", "/machine.slice/libpod-" API ".scope/container",
			"crun's leaf has the limits" },
		{ "/machine.slice/libpod-" API ".scope/container/init.scope", "/machine.slice/libpod-" API ".scope/container",
			"systemd in it" },
		{ "/machine.slice/libpod-" API ".scope/containers", "/machine.slice/libpod-" API ".scope", "not crun's leaf" },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" API ".scope",
			"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" API ".scope", "rootless Podman" },
		{ "/libpod_parent/libpod-" API, "/libpod_parent/libpod-" API, "Podman, cgroupfs" },
		{ "/machine.slice/libpod-conmon-" API ".scope", NULL, "the monitor is not the container" },
		{ "/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" API ".scope",
			"/kubepods.slice/kubepods-pod" POD_ ".slice/cri-containerd-" API ".scope", "containerd, systemd" },
		{ "/system.slice/containerd.service/kubepods-besteffort-podX.slice:cri-containerd:" API,
			"/system.slice/containerd.service/kubepods-besteffort-podX.slice:cri-containerd:" API, "colons" },
		{ "/system.slice/ssh.service", NULL, "a pid of another namespace: some other process" },
		{ "/", NULL, "no group of its own" },
	};

	(void)state;
	for (size_t i = 0; i < UP_COUNT(cases); i++) {
		char path[1024];
		bool ok;

		snprintf(path, sizeof(path), "%s", cases[i].path);
		ok = up_container_cut_path(path, API);
		if (ok != (cases[i].want != NULL) || (ok && strcmp(path, cases[i].want) != 0))
			fail_msg("%s: %s", cases[i].why, path);
	}
}

struct machine {
	struct tree tree;
	struct up_targets targets;
	char message[8192];
};

static void start(struct machine *machine)
{
	tree_init(&machine->tree);
	tree_file(&machine->tree, "/proc/self/mountinfo", "35 25 0:30 / " CG " rw - cgroup2 cgroup2 rw,nsdelegate\n");
	tree_file(&machine->tree, CG "/cgroup.controllers", "cpuset cpu io memory pids\n");
	assert_int_equal(up_targets_init(&machine->targets, &machine->tree.source, &machine->tree.arena), 0);
}

static int add(struct machine *machine, const char *name)
{
	machine->message[0] = '\0';
	return up_targets_add_name(&machine->targets, &machine->tree.source, &machine->tree.arena, name, false, machine->message,
		sizeof(machine->message));
}

/* The name was added as HOW with this label. */
static void expect(struct machine *machine, const char *name, const char *how, const char *label)
{
	const int r = add(machine, name);
	const struct up_target *target = &machine->targets.items[machine->targets.count - 1];

	if (r < 0)
		fail_msg("%s: %d %s", name, r, machine->message);
	if (strcmp(target->how, how) != 0 || strcmp(target->label, label) != 0)
		fail_msg("%s: %s, %s", name, target->how, target->label);
}

static void stop(struct machine *machine)
{
	up_targets_done(&machine->targets);
	tree_done(&machine->tree);
}

/* Podman without a daemon: names from its storage, the group from the directory that carries the id. */
static void podman_without_daemon(void **state)
{
	struct machine m;
	size_t len;
	char *text = answer("podman_storage.json", &len);

	(void)state;
	start(&m);
	tree_file(&m.tree, "/var/lib/containers/storage/overlay-containers/containers.json", text);
	tree_file(&m.tree, "/var/lib/containers/storage/overlay-containers/volatile-containers.json",
		"[{\"id\":"); /* half written */
	tree_cgroup(&m.tree, CG "/machine.slice/libpod-conmon-" SHOP ".scope", "9\n");
	tree_cgroup(&m.tree, CG "/machine.slice/libpod-" SHOP ".scope", "");
	tree_cgroup(&m.tree, CG "/machine.slice/libpod-" SHOP ".scope/container", "10\n");
	tree_process(&m.tree, 10, "shop", 1, "0::/machine.slice/libpod-" SHOP ".scope/container\n");
	expect(&m, "shop", "container", "/machine.slice/libpod-" SHOP ".scope/container");
	assert_string_equal(m.targets.items[0].container_id, SHOP);
	assert_string_equal(m.targets.items[0].lookup, "shop");
	assert_int_equal(add(&m, "vola"), -ENOENT); /* in the storage, but not running */
	free(text);
	stop(&m);
}

static void kubernetes(void **state)
{
	static const char slice[] = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_ ".slice";
	struct machine m;
	char path[512];

	(void)state;
	start(&m);
	snprintf(path, sizeof(path), CG "%s/cri-containerd-" API ".scope", slice);
	tree_cgroup(&m.tree, path, "");
	snprintf(path, sizeof(path), CG "%s/crio-conmon-" API ".scope", slice);
	tree_cgroup(&m.tree, path, "");
	tree_cgroup(&m.tree, CG "/kubepods/besteffort/pod11112222-3333-4444-5555-666677778888/" SHOP, "");
	tree_dir(&m.tree, "/var/log/pods/default_shop-7d9f-x2k_" POD);
	tree_dir(&m.tree, "/var/log/pods/kube-system_dns-1_11112222-3333-4444-5555-666677778888");
	tree_dir(&m.tree, "/var/log/pods/default_gone-1_99999999-3333-4444-5555-666677778888");
	tree_file(&m.tree, "/var/log/containers/shop-7d9f-x2k_default_web-api-" API ".log", "");
	tree_file(&m.tree, "/var/log/containers/shop-7d9f-x1a_default_web-api-" VOLA ".log", ""); /* has ended */
	snprintf(path, sizeof(path), "%s/cri-containerd-" API ".scope", slice);
	expect(&m, "07675b44d5b4", "Kubernetes pod or container", path);
	expect(&m, POD, "Kubernetes pod or container", slice);
	assert_int_equal(add(&m, POD_), -EEXIST); /* the same pod, as systemd writes it */
	assert_int_equal(add(&m, "shop-7d9f-x2k"), -EEXIST);
	assert_int_equal(add(&m, "default/shop-7d9f-x2k"), -EEXIST);
	assert_int_equal(add(&m, "web-api"), -EEXIST); /* the container that was found by its id above */
	expect(&m, "kube-system/dns-1", "Kubernetes pod or container",
		"/kubepods/besteffort/pod11112222-3333-4444-5555-666677778888");
	/* Not the beginning of an id, not the right name space, nothing running. */
	assert_int_equal(add(&m, "75b44d5b4"), -ENOENT);
	assert_int_equal(add(&m, "1111-2222"), -ENOENT);
	assert_int_equal(add(&m, "default/dns-1"), -ENOENT);
	assert_int_equal(add(&m, "gone-1"), -ENOENT);
	assert_int_equal(add(&m, "shop-7d9f"), -ENOENT);
	stop(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(docker_answer),
		cmocka_unit_test(states_and_services),
		cmocka_unit_test(podman_answers),
		cmocka_unit_test(odd_lists),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(pids),
		cmocka_unit_test(own_group),
		cmocka_unit_test(podman_without_daemon),
		cmocka_unit_test(kubernetes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
