/* From what --queue says to probes on a file: which file a process means, where its functions are, attaching. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_session.h"
#include "queues_internal.h"

/* offsetof(uv_work_t, work_req) in libuv 1.x on 64-bit machines: part of its ABI (include/uv.h, UV_REQ_FIELDS and three pointers). */
#define UV_WORK_REQ 88

/* libuv: the item is a struct uv__work, whose address all of these get. uv__work_submit may be inlined into uv_queue_work, or be called by
 * it: the address counts once. A job begins when a thread calls its work function; uv_cancel takes a waiting uv_work_t back. */
static const struct queue_point libuv_points[] = {
	{ .symbol = "uv_queue_work", .role = UP_QUEUE_PUT, .argument = 2, .offset = UV_WORK_REQ },
	{ .symbol = "uv__work_submit", .role = UP_QUEUE_PUT, .argument = 2 },
	{ .symbol = "uv__queue_work", .role = UP_QUEUE_TAKE, .argument = 1 },
	{ .symbol = "uv__fs_work", .role = UP_QUEUE_TAKE, .argument = 1 },
	{ .symbol = "uv__getaddrinfo_work", .role = UP_QUEUE_TAKE, .argument = 1, .optional = true },
	{ .symbol = "uv__getnameinfo_work", .role = UP_QUEUE_TAKE, .argument = 1, .optional = true },
	{ .symbol = "uv_cancel", .role = UP_QUEUE_CANCEL, .argument = 1, .offset = UV_WORK_REQ, .optional = true },
};
_Static_assert(UP_COUNT(libuv_points) <= UP_QUEUE_POINTS, "every point has its link");

static struct queue_point point_of(const struct up_queue_point *point, enum up_queue_role role)
{
	return (struct queue_point){
		.symbol = point->symbol,
		.role = role,
		.at_return = point->when >= UP_QUEUE_AT_RETURN,
		.nonnull = point->when == UP_QUEUE_AT_NONNULL,
	};
}

size_t queue_points(const struct up_queue_spec *spec, struct queue_point *ret)
{
	size_t count = 0;

	if (spec->kind == UP_QUEUE_LIBUV) {
		memcpy(ret, libuv_points, sizeof(libuv_points));
		return UP_COUNT(libuv_points);
	}
	if (spec->kind != UP_QUEUE_FUNCTIONS)
		return 0;
	ret[count++] = point_of(&spec->put, UP_QUEUE_PUT);
	ret[count++] = point_of(&spec->take, UP_QUEUE_TAKE);
	/* Whether it really does not wait inside. */
	if (spec->take.when == UP_QUEUE_AT_NONNULL)
		ret[count++] = (struct queue_point){ .symbol = spec->take.symbol, .role = UP_QUEUE_ENTER };
	return count;
}

int queue_open_file(const struct up_source *source, const struct up_queue_spec *spec, pid_t pid, int *ret_fd)
{
	/* An absolute link inside a container is meant below its root, not ours. */
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT };
	char path[64];
	int root_fd, fd, error;

	if (spec->kind == UP_QUEUE_LIBUV) {
		snprintf(path, sizeof(path), "proc/%d/exe", (int)pid);
		fd = openat(source->root_fd, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		*ret_fd = fd;
		return 0;
	}
	snprintf(path, sizeof(path), "proc/%d/root", (int)pid);
	root_fd = openat(source->root_fd, pid ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, spec->binary, &how, sizeof(how));
	error = errno;
	close(root_fd);
	if (fd < 0)
		return -error;
	*ret_fd = fd;
	return 0;
}

static const char *file_name(const struct up_queue_spec *spec)
{
	return spec->kind == UP_QUEUE_LIBUV ? "the program" : spec->binary;
}

static int judge_function(const struct up_queue_spec *spec, const struct queue_point *point,
	const struct up_elf_function *function, const struct up_elf_facts *facts, char *message, size_t size)
{
	if (function->ambiguous) {
		snprintf(message, size, "%s: several functions are called %s", file_name(spec), point->symbol);
		return -ENOTUNIQ;
	}
	if (!function->offset && !point->optional) {
		snprintf(message, size, "%s has no function %s%s", file_name(spec), point->symbol,
			facts->symbols ? "" : " (it is stripped: only exported names are left)");
		return -ENOENT;
	}
	if (point->at_return && facts->go) {
		snprintf(message, size, "%s is a Go program: @return and @nonnull would break it", file_name(spec));
		return -EOPNOTSUPP;
	}
	return 0;
}

int queue_find_points(int fd, const struct up_queue_spec *spec, const struct queue_point *points, size_t count,
	struct up_elf_function *ret, char *message, size_t size)
{
	struct up_elf_facts facts;
	struct stat stat_buffer;
	int r = -ENOEXEC;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct up_elf_function){ .symbol = points[i].symbol };
	if (fstat(fd, &stat_buffer) == 0 && S_ISREG(stat_buffer.st_mode))
		r = up_elf_functions_find(fd, ret, count, &facts);
	if (r < 0) {
		snprintf(message, size, "%s: %s", file_name(spec),
			r == -ENOEXEC ? "not a 64-bit ELF program or library of this machine" : "cut or malformed ELF file");
		return r;
	}
	for (size_t i = 0; i < count && r == 0; i++)
		r = judge_function(spec, &points[i], &ret[i], &facts, message, size);
	return r;
}

void queue_detach(struct queue_file *file)
{
	for (size_t i = 0; i < UP_QUEUE_POINTS; i++)
		bpf_link__destroy(file->links[i]);
	*file = (struct queue_file){ 0 };
}

static struct bpf_link *attach_point(
	struct queues *skeleton, const char *path, size_t queue, const struct queue_point *point, uint64_t offset)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = point->at_return,
		.bpf_cookie = UP_QUEUE_COOKIE(queue, point->role) | (point->nonnull ? UP_QUEUE_COOKIE_NONNULL : 0) |
			      UP_QUEUE_COOKIE_ITEM(point->argument, point->offset));

	return bpf_program__attach_uprobe_opts(
		point->at_return ? skeleton->progs.up_queue_return : skeleton->progs.up_queue_entry, -1, path, offset, &options);
}

/* A class of calls costs what its dearest point does. */
static void add_cost(struct queue_file *file, const struct queue_costs *costs, const struct queue_point *point,
	const struct up_elf_function *function)
{
	const double cost_ns = queue_point_cost(costs, point, function->step);

	if (point->role == UP_QUEUE_PUT)
		file->put_cost_ns = fmax(file->put_cost_ns, cost_ns);
	else if (point->role == UP_QUEUE_TAKE)
		file->take_cost_ns = fmax(file->take_cost_ns, cost_ns);
	if (function->step == UP_STEP_SINGLE && !file->slow)
		file->slow = point->symbol;
}

int queue_attach(struct queues *skeleton, const struct up_queue_spec *spec, size_t index, int fd, const struct queue_costs *costs,
	struct queue_file *ret, char *message, size_t size)
{
	struct queue_point points[UP_QUEUE_POINTS];
	struct up_elf_function functions[UP_QUEUE_POINTS] = { 0 };
	const size_t count = queue_points(spec, points);
	struct queue_file file = { .spec = index, .put_cost_ns = NAN, .take_cost_ns = NAN };
	struct stat stat_buffer = { 0 };
	char path[32];
	int r = queue_find_points(fd, spec, points, count, functions, message, size);

	if (r == 0 && fstat(fd, &stat_buffer) < 0)
		r = -errno;
	if (r < 0)
		return r;
	file.device = stat_buffer.st_dev;
	file.inode = stat_buffer.st_ino;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Takes first: an item that is put in between is then counted too late, never too early. */
	for (size_t n = 0; n < 2 * count; n++) {
		const size_t i = n % count;

		if ((points[i].role == UP_QUEUE_PUT) != (n >= count) || !functions[i].offset)
			continue;
		up_bpf_listen();
		file.links[i] = attach_point(skeleton, path, index, &points[i], functions[i].offset);
		if (!file.links[i]) {
			r = -errno;
			snprintf(message, size, "%s: no probe on %s: %s", file_name(spec), points[i].symbol, strerror(-r));
			queue_detach(&file);
			return r;
		}
		add_cost(&file, costs, &points[i], &functions[i]);
	}
	*ret = file;
	return 0;
}
