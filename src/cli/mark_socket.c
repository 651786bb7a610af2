#include "mark_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "useprobe/compiler.h"
#include "useprobe/scan.h"

/* Makes and opens PATH as a directory that only we can use. Checked through the descriptor, so that nobody can swap it in between. */
static int open_own_dir(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

static int open_dir(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[512];
	int fd = -ENOENT;

	if (runtime && *runtime == '/' && snprintf(path, sizeof(path), "%s/useprobe", runtime) < (int)sizeof(path))
		fd = open_own_dir(path);
	if (fd < 0 && geteuid() == 0)
		fd = open_own_dir("/run/useprobe");
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/useprobe-%u", (unsigned)geteuid());
		fd = open_own_dir(path);
	}
	return fd;
}

/* Process id in "123.sock", 0 for another name. */
static pid_t pid_of(const char *name)
{
	uint64_t pid;

	return up_scan_u64(&name, &pid) == 0 && strcmp(name, ".sock") == 0 && pid <= 1u << 22 ? (pid_t)pid : 0;
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Sockets of killed runs. */
static void remove_stale(int dir_fd)
{
	const int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const pid_t pid = pid_of(entry->d_name);

		if (pid && (!is_alive(pid) || pid == getpid()))
			unlinkat(dir_fd, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

int mark_socket_open(struct mark_socket *mark)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t mask;
	int r = 0;

	*mark = (struct mark_socket){ .fd = -1, .dir_fd = open_dir() };
	if (mark->dir_fd < 0)
		return mark->dir_fd;
	remove_stale(mark->dir_fd);
	snprintf(mark->name, sizeof(mark->name), "%d.sock", (int)getpid());
	/* Through the descriptor: no length limit of sun_path and no way around the checks. */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", mark->dir_fd, mark->name);
	mark->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (mark->fd < 0)
		r = -errno;
	mask = umask(0177);
	if (r == 0 && bind(mark->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	umask(mask);
	if (r < 0) {
		mark->name[0] = '\0';
		mark_socket_close(mark);
	}
	return r;
}

bool mark_socket_read(struct mark_socket *mark, char text[MARK_TEXT_MAX + 1])
{
	ssize_t n;

	if (mark->fd < 0)
		return false;
	do
		n = recv(mark->fd, text, MARK_TEXT_MAX, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	text[n] = '\0';
	return true;
}

void mark_socket_close(struct mark_socket *mark)
{
	if (mark->dir_fd >= 0 && *mark->name)
		unlinkat(mark->dir_fd, mark->name, 0);
	if (mark->fd >= 0)
		close(mark->fd);
	if (mark->dir_fd >= 0)
		close(mark->dir_fd);
	*mark = (struct mark_socket){ .fd = -1, .dir_fd = -1 };
}

static bool is_known(const struct mark_probe *probes, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (probes[i].pid == pid)
			return true;
	return false;
}

/* A socket connected to that of PROBE. Through the descriptor of its directory, since paths may be longer than sun_path. */
static int connect_to(const struct mark_probe *probe)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[sizeof(probe->path)];
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int dir_fd, r = 0;

	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(probe->path, '/') - probe->path), probe->path);
	dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%d.sock", dir_fd, (int)probe->pid);
	if (fd < 0 || dir_fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	if (dir_fd >= 0)
		close(dir_fd);
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Adds the probe behind the socket PATH. One of a killed run, whose id may live on in another process, is refused by connect. */
static size_t add_probe(struct mark_probe *probes, size_t count, const char *path)
{
	struct mark_probe *probe = &probes[count];
	int fd;

	*probe = (struct mark_probe){ .pid = pid_of(strrchr(path, '/') + 1) };
	if (!probe->pid || is_known(probes, count, probe->pid) || strlen(path) >= sizeof(probe->path))
		return count;
	snprintf(probe->path, sizeof(probe->path), "%s", path);
	fd = connect_to(probe);
	if (fd >= 0)
		close(fd);
	probe->denied = fd == -EACCES;
	return fd >= 0 || probe->denied ? count + 1 : count;
}

size_t mark_probes_find(struct mark_probe *ret, size_t max)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	/* A run under sudo, or one of another login session, has another run-time directory than this process. */
	const char *const patterns[] = { "/run/useprobe/*.sock", "/run/user/*/useprobe/*.sock", "/tmp/useprobe-*/*.sock" };
	char own[512];
	glob_t found = { 0 };
	size_t count = 0;

	if (runtime && *runtime == '/' && snprintf(own, sizeof(own), "%s/useprobe/*.sock", runtime) < (int)sizeof(own))
		glob(own, 0, NULL, &found);
	for (size_t i = 0; i < UP_COUNT(patterns); i++)
		glob(patterns[i], found.gl_pathc ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && count < max; i++)
		count = add_probe(ret, count, found.gl_pathv[i]);
	globfree(&found);
	return count;
}

int mark_send(const struct mark_probe *probe, const char *text)
{
	const int fd = connect_to(probe);
	int r = 0;

	if (fd < 0)
		return fd;
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		r = -errno;
	close(fd);
	return r;
}
