/* Network namespaces: which ones a set of processes lives in, and one helper thread that enters them. Only the helper ever calls setns,
 * so it alone has to keep CAP_SYS_ADMIN; what is opened inside (netlink sockets, files of /proc/net and /proc/sys/net) stays bound to that
 * namespace and is then used from any thread. */
#ifndef UP_NETNS_H
#define UP_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "useprobe/arena.h"
#include "useprobe/compiler.h"
#include "useprobe/source.h"

#define UP_NETNS_MAX 32 /* namespaces looked at in one run */

struct up_netns_helper;

/* Starts the thread. 0, -EAGAIN, -ENOMEM. up_netns_helper_free ends it; NULL is fine. */
UP_MUST_CHECK int up_netns_helper_new(struct up_netns_helper **ret);
void up_netns_helper_free(struct up_netns_helper *helper);

/* Runs FN(ARG) in the helper thread inside the namespace of process PID (0: the probe's own), waits for it and gives back what it
 * returned. When another INODE than asked for is found there (0: any will do), -ESTALE. -EACCES or -EPERM: /proc/PID/ns/net may not be
 * opened (CAP_SYS_PTRACE) or entered (CAP_SYS_ADMIN); -ENOENT: no such process. FN must not block for long. */
typedef int up_netns_fn(void *arg);
UP_MUST_CHECK int up_netns_run(struct up_netns_helper *helper, pid_t pid, uint64_t inode, up_netns_fn *fn, void *arg);

/* Inode number of the namespace of PID (0: the caller's own), as in "net:[4026531840]". 0 or -errno. */
UP_MUST_CHECK int up_netns_of(const struct up_source *source, pid_t pid, uint64_t *ret_inode);
/* The number in TEXT ("net:[4026531840]"). 0, -EBADMSG. */
UP_MUST_CHECK int up_netns_parse(const char *text, uint64_t *ret_inode);

/* Namespaces that a set of processes lives in. */
struct up_netns_ref {
	uint64_t inode;
	pid_t pid; /* a process inside */
};
struct up_netns_set {
	struct up_netns_ref items[UP_NETNS_MAX];
	size_t count;
	size_t more; /* processes whose namespace did not fit */
	size_t denied; /* processes whose namespace may not be read (CAP_SYS_PTRACE) */
};
/* Adds the namespaces of the PIDS. Processes that have ended are left out. */
void up_netns_collect(const struct up_source *source, const pid_t *pids, size_t count, struct up_netns_set *set);

#endif
