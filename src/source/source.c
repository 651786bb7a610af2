#include "useprobe/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP_BYTES 4096

/* openat ignores the directory for an absolute path, so the leading slashes go; "" means the root itself. */
static const char *relative(const char *path)
{
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

static int open_frame(struct up_source *source, int frame)
{
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "t%d", frame);
	fd = openat(source->top_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (source->root_fd >= 0)
		close(source->root_fd);
	source->root_fd = fd;
	source->frame = frame;
	return 0;
}

/* Opens a file for reading. Without a free descriptor the spare one makes room for it: then *ret_spare is set, and the file has to go
 * back through put_back as soon as it is read. */
static int open_file(const struct up_source *source, const char *path, bool *ret_spare)
{
	/* The spare place is the only thing of a source that changes after it is opened; whoever takes it puts it back. */
	int *spare_fd = (int *)(uintptr_t)&source->spare_fd;
	int fd = openat(source->root_fd, relative(path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int spare;

	*ret_spare = false;
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd < 0 ? -errno : fd;
	spare = __atomic_exchange_n(spare_fd, -1, __ATOMIC_ACQ_REL);
	if (spare < 0)
		return -EMFILE;
	close(spare);
	*ret_spare = true;
	fd = openat(source->root_fd, relative(path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Closes FD (negative: it could not be opened) and takes the spare place again. */
static void put_back(const struct up_source *source, int fd, bool spare)
{
	if (fd >= 0)
		close(fd);
	if (spare)
		__atomic_store_n(
			(int *)(uintptr_t)&source->spare_fd, fcntl(source->root_fd, F_DUPFD_CLOEXEC, 0), __ATOMIC_RELEASE);
}

int up_source_open(struct up_source *source, const char *root)
{
	struct up_source opened = { .root_fd = -1, .top_fd = -1, .spare_fd = -1, .frame = -1, .recorded = root && *root };
	int fd = open(opened.recorded ? root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (opened.recorded) {
		snprintf(opened.root, sizeof(opened.root), "%s", root);
		opened.top_fd = fd;
		if (open_frame(&opened, 0) < 0) {
			opened.top_fd = -1;
			opened.root_fd = fd;
		}
	} else {
		opened.root_fd = fd;
	}
	opened.spare_fd = fcntl(opened.root_fd, F_DUPFD_CLOEXEC, 0);
	*source = opened;
	return 0;
}

void up_source_close(struct up_source *source)
{
	if (source->top_fd > 0)
		close(source->top_fd);
	if (source->root_fd > 0)
		close(source->root_fd);
	if (source->spare_fd > 0)
		close(source->spare_fd);
	*source = (struct up_source){ .root_fd = -1, .top_fd = -1, .spare_fd = -1, .frame = -1 };
}

bool up_source_next_frame(struct up_source *source)
{
	return source->frame >= 0 && open_frame(source, source->frame + 1) == 0;
}

/* Reads FD from its start to its end. Kernel files are made afresh by a read at offset 0, so pread gives the present values. The read
 * that would find the end makes the kernel write the whole file once more, so it is saved where the end is certain: seq_file (fs/seq_file.c)
 * stops short of the buffer only at the end or where the next record does not fit its page, and no record of the files we keep open is
 * half a page long. */
static int read_all(int fd, bool kept, struct up_arena *arena, char **ret_text, size_t *ret_len)
{
	const size_t mark = arena->used_bytes;
	size_t size = READ_STEP_BYTES, len = 0;
	char *text = up_arena_alloc(arena, size);

	while (text) {
		ssize_t n = pread(fd, text + len, size - len - 1, (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			const int error = -errno;

			arena->used_bytes = mark;
			return error;
		}
		len += (size_t)n;
		if (n == 0 || (kept && (size_t)n < READ_STEP_BYTES / 2)) {
			text[len] = '\0';
			arena->used_bytes -= size - len - 1;
			*ret_text = text;
			if (ret_len)
				*ret_len = len;
			return 0;
		}
		if (len + 1 >= size / 2) {
			/* The text is the last allocation, so growing it means taking the bytes behind it. */
			if (arena->used_bytes + size > UP_ARENA_MAX_BYTES)
				break;
			memset(arena->base + arena->used_bytes, 0, size);
			arena->used_bytes += size;
			size *= 2;
		}
	}
	arena->used_bytes = mark;
	return -EFBIG;
}

int up_source_read(const struct up_source *source, struct up_arena *arena, const char *path, char **ret_text, size_t *ret_len)
{
	bool spare;
	const int fd = open_file(source, path, &spare);
	const int r = fd < 0 ? fd : read_all(fd, false, arena, ret_text, ret_len);

	put_back(source, fd, spare);
	return r;
}

int up_file_read(const struct up_source *source, struct up_file *file, struct up_arena *arena, char **ret_text, size_t *ret_len)
{
	bool spare;
	int r;

	/* The frames of a recorded tree are different files, so they cannot be kept open. */
	if (source->frame >= 0)
		return up_source_read(source, arena, file->path, ret_text, ret_len);
	if (!file->fd_plus_1) {
		const int fd = open_file(source, file->path, &spare);

		if (fd < 0 || spare) {
			r = fd < 0 ? fd : read_all(fd, true, arena, ret_text, ret_len);
			put_back(source, fd, spare);
			return r;
		}
		file->fd_plus_1 = fd + 1;
	}
	r = read_all(file->fd_plus_1 - 1, true, arena, ret_text, ret_len);
	if (r == -ENODEV || r == -ESRCH) {
		/* The cgroup or process behind the descriptor is gone; a new one of the same name is another file. */
		up_file_close(file);
		r = up_source_read(source, arena, file->path, ret_text, ret_len);
	}
	return r;
}

void up_file_close(struct up_file *file)
{
	if (file->fd_plus_1)
		close(file->fd_plus_1 - 1);
	file->fd_plus_1 = 0;
}

DIR *up_source_opendir(const struct up_source *source, const char *path)
{
	int fd = openat(source->root_fd, relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir;

	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

int up_source_readlink(const struct up_source *source, const char *path, char *ret_text, size_t size)
{
	ssize_t n = readlinkat(source->root_fd, relative(path), ret_text, size - 1);

	if (n < 0)
		return -errno;
	ret_text[n] = '\0';
	return 0;
}

static bool stat_path(const struct up_source *source, const char *path, struct stat *st)
{
	return fstatat(source->root_fd, relative(path), st, 0) == 0;
}

bool up_source_exists(const struct up_source *source, const char *path)
{
	struct stat st;

	return stat_path(source, path, &st);
}

bool up_source_is_dir(const struct up_source *source, const char *path)
{
	struct stat st;

	return stat_path(source, path, &st) && S_ISDIR(st.st_mode);
}

unsigned long up_source_inode(const struct up_source *source, const char *path)
{
	struct stat st;

	return stat_path(source, path, &st) ? (unsigned long)st.st_ino : 0;
}
