/* load_user - one virtual user of the load generator: connect, send, receive, record, think. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load_user.h"

#define ERROR_PAUSE_NS (100 * LAB_NS_PER_MS) /* a closed-loop user whose server is gone must not spin */
#define LATE_NS (10 * LAB_NS_PER_MS)

static void busy_append(struct lab_load_state *load, unsigned id)
{
	struct lab_vu *vu = &load->vus[id], *anchor = &load->vus[0];

	vu->previous = anchor->previous;
	vu->next = 0;
	load->vus[anchor->previous].next = id;
	anchor->previous = id;
	load->n_busy++;
}

static void busy_remove(struct lab_load_state *load, unsigned id)
{
	struct lab_vu *vu = &load->vus[id];

	load->vus[vu->previous].next = vu->next;
	load->vus[vu->next].previous = vu->previous;
	load->n_busy--;
}

void lab_load_record(struct lab_load_state *load, const struct lab_result *result)
{
	const int r = lab_record_add(&load->record, result);

	if (r < 0 && !load->error)
		load->error = r;
}

void lab_vu_disconnect(struct lab_vu *vu)
{
	if (vu->fd >= 0)
		close(vu->fd);
	vu->fd = -1;
}

/* The user thinks, then asks again, unless the step has fewer users or the run is over. */
static void think(struct lab_load_state *load, unsigned id, uint64_t from_ns, bool after_error)
{
	const uint64_t due_ns =
		from_ns + lab_dist_draw_ns(&load->options->think, &load->random) + (after_error ? ERROR_PAUSE_NS : 0);

	load->vus[id].state = LAB_VU_FREE;
	if (due_ns >= load->end_ns)
		return;
	load->vus[id].state = LAB_VU_THINKING;
	lab_heap_push(&load->thinking, due_ns, id);
}

void lab_vu_finish(struct lab_load_state *load, unsigned id, int outcome, uint64_t now_ns)
{
	struct lab_vu *vu = &load->vus[id];

	busy_remove(load, id);
	lab_load_record(load, &(struct lab_result){ .planned_ns = vu->planned_ns,
				      .sent_ns = vu->sent_ns,
				      .end_ns = now_ns,
				      .outcome = outcome,
				      .vu = id,
				      .piece = vu->piece });
	load->totals.ok += outcome >= 200 && outcome < 400;
	load->totals.failed += outcome < 200 || outcome >= 400;
	load->totals.timeouts += outcome == LAB_OUTCOME_TIMEOUT;
	if (outcome < 0 || !vu->response.keep_alive || load->options->new_connection)
		lab_vu_disconnect(vu);
	if (load->options->cpu_ns)
		lab_burn(&load->hand, load->options->cpu_ns);
	if (load->schedule->closed) {
		think(load, id, now_ns, outcome < 0);
	} else {
		vu->state = LAB_VU_FREE;
		load->free_vus[load->n_free++] = id;
	}
}

static void send_request(struct lab_load_state *load, unsigned id)
{
	struct lab_vu *vu = &load->vus[id];
	ssize_t n;

	lab_response_start(&vu->response);
	vu->state = LAB_VU_WAITING;
	/* A request is far smaller than any socket buffer and the connection has nothing else under way: it fits or has failed. */
	n = send(vu->fd, load->request, load->request_length, MSG_NOSIGNAL);
	vu->sent_ns = lab_now_ns();
	load->totals.sent++;
	if (n != (ssize_t)load->request_length)
		lab_vu_finish(load, id, LAB_OUTCOME_ERROR, vu->sent_ns);
}

void lab_vu_start(struct lab_load_state *load, unsigned id, uint64_t planned_ns, unsigned piece, uint64_t now_ns)
{
	struct lab_vu *vu = &load->vus[id];
	const uint64_t late_ns = now_ns > planned_ns ? now_ns - planned_ns : 0;

	vu->planned_ns = planned_ns;
	vu->started_ns = now_ns;
	vu->sent_ns = now_ns; /* until it is sent: the attempt */
	vu->piece = piece;
	busy_append(load, id);
	load->totals.planned++;
	load->totals.late += late_ns > LATE_NS;
	if (late_ns > load->totals.max_late_ns)
		load->totals.max_late_ns = late_ns;
	if (vu->fd >= 0) {
		send_request(load, id);
		return;
	}
	vu->fd = lab_connect_start(&load->options->target);
	vu->state = LAB_VU_CONNECTING;
	/* Edge triggered, both directions: one registration for the life of the connection. */
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u32 = id };

	if (vu->fd < 0 || epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, vu->fd, &event) < 0)
		lab_vu_finish(load, id, LAB_OUTCOME_ERROR, lab_now_ns());
}

/* Reads until the answer is complete or nothing is left. */
static void receive(struct lab_load_state *load, unsigned id)
{
	struct lab_vu *vu = &load->vus[id];

	for (;;) {
		const ssize_t n = recv(vu->fd, load->buffer, sizeof(load->buffer), 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			const bool whole = n == 0 && lab_response_closed(&vu->response);

			lab_vu_finish(load, id, whole ? vu->response.status : LAB_OUTCOME_ERROR, lab_now_ns());
			return;
		}
		if (lab_response_feed(&vu->response, load->buffer, (size_t)n) != n) {
			lab_vu_finish(load, id, LAB_OUTCOME_ERROR, lab_now_ns());
			return;
		}
		if (vu->response.phase == LAB_PHASE_DONE) {
			lab_vu_finish(load, id, vu->response.status, lab_now_ns());
			return;
		}
	}
}

void lab_vu_event(struct lab_load_state *load, unsigned id, uint32_t events)
{
	struct lab_vu *vu = &load->vus[id];
	socklen_t length = sizeof(int);
	int error = 0;

	switch (vu->state) {
	case LAB_VU_CONNECTING:
		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
			return;
		if (getsockopt(vu->fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 || error)
			lab_vu_finish(load, id, LAB_OUTCOME_ERROR, lab_now_ns());
		else
			send_request(load, id);
		return;
	case LAB_VU_WAITING:
		if (events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP))
			receive(load, id);
		return;
	default:
		/* The server closed a connection that asked nothing: a new one is made when it is needed. */
		if (events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP))
			lab_vu_disconnect(vu);
	}
}

void lab_vu_expire(struct lab_load_state *load, uint64_t now_ns)
{
	unsigned id;

	while ((id = load->vus[0].next) && load->vus[id].started_ns + load->options->timeout_ns <= now_ns)
		lab_vu_finish(load, id, LAB_OUTCOME_TIMEOUT, now_ns);
}
