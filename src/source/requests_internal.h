/* What requests.c (reading) and requests_load.c (loading) share. */
#ifndef UP_REQUESTS_INTERNAL_H
#define UP_REQUESTS_INTERNAL_H

#include "bpf_match.h"
#include "requests.h"
#include "requests.skel.h"
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
	bool attached;
	int cpus; /* possible */
	void *copy; /* [cpus] values of the larger map, owned */
};

/* What LISTENER is in the programs' tables. */
void requests_key(const struct up_listener *listener, struct up_req_key *ret);
/* Slot of KEY, made when it is new; -ENOSPC or -errno. */
int requests_server_slot(struct up_requests *requests, const struct up_req_key *key);

#endif
