/* What requests.c (reading) and requests_load.c (loading) share. */
#ifndef UP_REQUESTS_INTERNAL_H
#define UP_REQUESTS_INTERNAL_H

#include <pthread.h>

#include "bpf_match.h"
#include "tally.h"
#include "requests_common.h"
#include "requests.skel.h"
#include "useprobe/netns.h"
#include "useprobe/requests.h"

struct up_requests {
	const struct up_source *source; /* borrowed */
	struct requests *skeleton;
	struct up_req_key servers[UP_REQ_SERVERS];
	uint64_t server_tick[UP_REQ_SERVERS]; /* last tick it was read, +1 */
	size_t server_count;
	struct up_match match;
	/* Peers by slot, read again when the programs have given out another one. */
	struct up_req_key peers[UP_REQ_CLIENTS];
	bool peer_known[UP_REQ_CLIENTS];
	uint32_t peers_seen;
	const char *method; /* static */
	enum up_requests_by by; /* never BEST */
	struct tally *tally; /* BOUNDS: owned; there is no skeleton then */
	bool attached;
	int cpus; /* possible */
	void *copy; /* [cpus] values of the larger map, owned */
	/* Looks: a thread of their own. */
	struct bpf_link *look_link;
	struct up_netns_helper *look_helper; /* owned */
	struct up_sockets *look_sockets; /* borrowed, may be NULL */
	pthread_t look_thread;
	bool look_started;
	pthread_mutex_t look_lock;
	pthread_cond_t look_wake; /* monotonic clock */
	bool look_stop; /* under look_lock, as below */
	uint64_t look_spaces[UP_NETNS_MAX]; /* [look_space_count] namespaces of the last pass */
	size_t look_space_count;
};

/* requests_load.c: runs the iterator that adopts open connections; what it says is nothing. Without it idle connections are not counted as
 * open. */
void requests_adopt(struct requests *skeleton);

/* requests_look.c: starts the looks, in the namespaces that SOCKETS (may be NULL: the probe's own) watches, and ends them. 0 or -errno. */
int requests_look_start(struct up_requests *requests, struct up_sockets *sockets);
void requests_look_stop(struct up_requests *requests);
/* True when the last pass has seen namespace INODE. */
bool requests_looked(struct up_requests *requests, uint64_t inode);

/* Slot of KEY, made when it is new; -ENOSPC or -errno. */
int requests_server_slot(struct up_requests *requests, const struct up_req_key *key);

#endif
