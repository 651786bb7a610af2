#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/cli/mark_socket.h"
#include "check.h"

static char runtime[64], directory[96], path[128];

static int setup(void **state)
{
	(void)state;
	snprintf(runtime, sizeof(runtime), "/tmp/up_mark_XXXXXX");
	if (!mkdtemp(runtime))
		return -1;
	snprintf(directory, sizeof(directory), "%s/useprobe", runtime);
	snprintf(path, sizeof(path), "%s/%d.sock", directory, (int)getpid());
	return setenv("XDG_RUNTIME_DIR", runtime, 1);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	unlink(directory);
	rmdir(directory);
	rmdir(runtime);
	return 0;
}

/* The probe of this process among those that run here. */
static const struct mark_probe *find_own(struct mark_probe *probes)
{
	const size_t count = mark_probes_find(probes, MARK_PROBES_MAX);

	for (size_t i = 0; i < count; i++)
		if (probes[i].pid == getpid())
			return &probes[i];
	return NULL;
}

static void marks_arrive(void **state)
{
	static struct mark_probe probes[MARK_PROBES_MAX];
	const struct mark_probe *probe;
	struct mark_socket mark;
	char text[MARK_TEXT_MAX + 1], longest[MARK_TEXT_MAX + 1];
	struct stat st;

	(void)state;
	assert_null(find_own(probes));
	assert_int_equal(mark_socket_open(&mark), 0);
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_false(mark_socket_read(&mark, text));
	probe = find_own(probes);
	assert_non_null(probe);
	assert_false(probe->denied);
	memset(longest, 'x', MARK_TEXT_MAX);
	longest[MARK_TEXT_MAX] = '\0';
	assert_int_equal(mark_send(probe, "step\n\x1b[31m;=\""), 0);
	assert_int_equal(mark_send(probe, longest), 0);
	assert_true(mark_socket_read(&mark, text));
	assert_string_equal(text, "step\n\x1b[31m;=\"");
	assert_true(mark_socket_read(&mark, text));
	assert_string_equal(text, longest);
	assert_false(mark_socket_read(&mark, text));
	/* A run that does not read (it is stopped) is said, not waited for. */
	for (int i = 0, r = 0; r == 0; i++) {
		r = mark_send(probe, "x");
		assert_true(i < 100000);
		if (r < 0)
			assert_int_equal(r, -EAGAIN);
	}
	mark_socket_close(&mark);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(mark_send(probe, "late"), -ENOENT);
}

/* What a killed run left behind is no probe, even when its id lives on, and the next run takes its place. */
static void stale_sockets(void **state)
{
	static struct mark_probe probes[MARK_PROBES_MAX];
	struct mark_socket mark, again;

	(void)state;
	assert_int_equal(mark_socket_open(&mark), 0);
	close(mark.fd);
	close(mark.dir_fd);
	assert_int_equal(access(path, F_OK), 0);
	assert_null(find_own(probes));
	assert_int_equal(mark_socket_open(&again), 0);
	assert_non_null(find_own(probes));
	mark_socket_close(&again);
}

/* A link, or a directory that others may write to, is not used. */
static void unsafe_directories(void **state)
{
	struct mark_socket mark;
	char elsewhere[64] = "/tmp/up_mark_other_XXXXXX", inside[128];

	(void)state;
	assert_non_null(mkdtemp(elsewhere));
	assert_int_equal(symlink(elsewhere, directory), 0);
	snprintf(inside, sizeof(inside), "%s/%d.sock", elsewhere, (int)getpid());
	if (mark_socket_open(&mark) == 0)
		mark_socket_close(&mark);
	assert_int_equal(rmdir(elsewhere), 0);
	unlink(directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(chmod(directory, 0770), 0);
	if (mark_socket_open(&mark) == 0) {
		assert_int_equal(access(path, F_OK), -1);
		mark_socket_close(&mark);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(marks_arrive, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_sockets, setup, teardown),
		cmocka_unit_test_setup_teardown(unsafe_directories, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
