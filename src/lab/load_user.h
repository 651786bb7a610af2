#ifndef LAB_LOAD_USER_H
#define LAB_LOAD_USER_H

#include "load.h"

#define LAB_READ_BYTES 65536

enum lab_vu_state { LAB_VU_FREE, LAB_VU_THINKING, LAB_VU_CONNECTING, LAB_VU_WAITING };

/* A virtual user: a connection that asks, or waits to be told to. */
struct lab_vu {
	int fd; /* -1 = not connected */
	enum lab_vu_state state;
	unsigned piece;
	uint64_t planned_ns, started_ns, sent_ns;
	unsigned previous, next; /* busy vus in order of their start; 0 is the list's anchor */
	struct lab_response response;
};

/* A run. */
struct lab_load_state {
	const struct lab_load_options *options;
	const struct lab_schedule *schedule;
	struct lab_record record;
	struct lab_load_totals totals;
	struct lab_hand hand;
	struct lab_random random;
	int epoll_fd, timer_fd, signal_fd;
	uint64_t start_ns, end_ns, armed_ns;
	struct lab_vu *vus; /* owned, [1 + max_vus]; number 0 is the anchor of the busy list */
	unsigned *free_vus; /* owned, [n_free], the last used on top */
	unsigned max_vus, n_vus, n_free, n_busy;
	struct lab_heap thinking;
	struct lab_arrivals arrivals;
	double next_arrival_s;
	unsigned next_piece;
	bool arrivals_left;
	unsigned piece; /* of the clock */
	size_t request_length;
	char request[512];
	char buffer[LAB_READ_BYTES];
	int error;
};

/* Starts a request planned for PLANNED_NS on the free vu ID. */
void lab_vu_start(struct lab_load_state *load, unsigned id, uint64_t planned_ns, unsigned piece, uint64_t now_ns);

/* The kernel says something about a vu's connection. */
void lab_vu_event(struct lab_load_state *load, unsigned id, uint32_t events);

/* Ends the request of a busy vu. */
void lab_vu_finish(struct lab_load_state *load, unsigned id, int outcome, uint64_t now_ns);

/* Ends the requests that have waited too long. */
void lab_vu_expire(struct lab_load_state *load, uint64_t now_ns);

/* Closes a vu's connection if there is one. */
void lab_vu_disconnect(struct lab_vu *vu);

/* Takes a result; a failure to write it ends the run. */
void lab_load_record(struct lab_load_state *load, const struct lab_result *result);

#endif
