/* Source: where the kernel's text files come from. Every path is relative to one root, so that a recorded tree (--root DIR) takes
 * the place of the machine. A recorded tree may hold frames t0, t1, ...: each tick then reads the next frame. */
#ifndef UP_SOURCE_H
#define UP_SOURCE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "useprobe/arena.h"
#include "useprobe/compiler.h"

#define UP_PATH_MAX 4096

struct up_source {
	int root_fd; /* owned; directory all paths are relative to */
	int top_fd; /* owned; DIR itself when frames are in use, else -1 */
	int spare_fd; /* owned; given up for a moment to read a file when the process is out of descriptors, -1 while in use */
	int frame; /* number of the frame root_fd points at, -1 without frames */
	bool recorded; /* true for --root DIR: no netlink, no BPF, no container daemon */
	char root[512]; /* as given; "" for the live machine */
};

/* A file that is read again and again: opened at the first read, then pread. Zero-initialise, set path (borrowed), end with
 * up_file_close. While the process is out of descriptors (EMFILE)
 * it is opened, read and closed each time, in the place of the source's spare one. */
struct up_file {
	const char *path;
	int fd_plus_1; /* 0: not open */
};

/* Opens the live root ("/") for root NULL or "", else DIR or its frame t0. 0, -ENOENT, -ENOTDIR, -EACCES. */
UP_MUST_CHECK int up_source_open(struct up_source *source, const char *root);
void up_source_close(struct up_source *source);

/* Moves on to the next recorded frame. true when there was one; false without frames or past the last. */
bool up_source_next_frame(struct up_source *source);

/* Reads the whole file PATH (relative to the root; leading slashes are dropped) into ARENA as NUL-terminated text.
 * 0 with *ret_text and *ret_len (may be NULL), borrowed from ARENA; -ENOENT, -EACCES, -EOPNOTSUPP (PSI off), -ENODEV (cgroup
 * removed), ..., or -EFBIG past the arena's end. Outputs untouched on error. */
UP_MUST_CHECK int up_source_read(
	const struct up_source *source, struct up_arena *arena, const char *path, char **ret_text, size_t *ret_len);
UP_MUST_CHECK int up_file_read(
	const struct up_source *source, struct up_file *file, struct up_arena *arena, char **ret_text, size_t *ret_len);
void up_file_close(struct up_file *file);

/* Opens a directory for readdir; NULL with errno. The caller closes it. */
DIR *up_source_opendir(const struct up_source *source, const char *path);
/* Target of a symbolic link, NUL-terminated, cut at SIZE - 1. 0 or -errno. */
UP_MUST_CHECK int up_source_readlink(const struct up_source *source, const char *path, char *ret_text, size_t size);
bool up_source_exists(const struct up_source *source, const char *path);
bool up_source_is_dir(const struct up_source *source, const char *path);
/* Value of the option hidepid of the /proc mount ("invisible", "2"), copied to RET; false when processes of other users are shown (no
 * option, or its value 0 or off). Documentation/filesystems/proc.rst, 4. The newest mount on /proc counts. */
bool up_source_hidepid(const struct up_source *source, struct up_arena *arena, char *ret, size_t size);
/* Inode number of PATH, 0 when it is not there. A cgroup that was removed and made again has another one. */
unsigned long up_source_inode(const struct up_source *source, const char *path);

#endif
