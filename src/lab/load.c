/* load - the load generator: one thread, epoll, a virtual user (vu) is a connection.
 *
 * Open loop: requests start by a schedule that does not look at answers. Each takes a free vu; with none free and none left to be
 * made the request is dropped and written as such. Closed loop: each user waits for its answer, thinks, asks again. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "load_user.h"

#define EVENTS 256
#define BURST 128 /* due requests started between two looks at the answers */

/* Open loop: starts what is due. */
static void start_due_arrivals(struct lab_load_state *load, uint64_t now_ns)
{
	for (int i = 0; i < BURST && load->arrivals_left; i++) {
		const uint64_t planned_ns = load->start_ns + (uint64_t)(load->next_arrival_s * 1e9);

		if (planned_ns > now_ns)
			return;
		if (!load->n_free && load->n_vus < load->max_vus)
			load->free_vus[load->n_free++] = ++load->n_vus;
		if (load->n_free) {
			lab_vu_start(load, load->free_vus[--load->n_free], planned_ns, load->next_piece, now_ns);
		} else {
			load->totals.planned++;
			load->totals.dropped++;
			lab_load_record(load,
				&(struct lab_result){
					.planned_ns = planned_ns, .outcome = LAB_OUTCOME_DROPPED, .piece = load->next_piece });
		}
		load->arrivals_left = lab_arrivals_next(&load->arrivals, &load->next_arrival_s, &load->next_piece);
	}
}

/* Closed loop: users of the piece that do nothing start to think, at a random place of their first pause so that they do not all ask
 * in the same instant. */
static void wake_users(struct lab_load_state *load, unsigned piece)
{
	const uint64_t begin_ns = load->start_ns + (uint64_t)(load->schedule->pieces[piece].start_s * 1e9);

	for (unsigned id = 1; id <= load->schedule->pieces[piece].users; id++) {
		if (load->vus[id].state != LAB_VU_FREE)
			continue;
		load->vus[id].state = LAB_VU_THINKING;
		lab_heap_push(&load->thinking,
			begin_ns + (uint64_t)(load->options->think.mean_ns * (1 - lab_random_unit(&load->random))), id);
	}
	load->n_vus = load->schedule->pieces[piece].users;
}

static void start_due_users(struct lab_load_state *load, uint64_t now_ns)
{
	for (int i = 0; i < BURST && load->thinking.n && load->thinking.entries[0].due_ns <= now_ns; i++) {
		const struct lab_heap_entry due = lab_heap_pop(&load->thinking);
		const unsigned piece = lab_schedule_piece(load->schedule, (double)(due.due_ns - load->start_ns) / 1e9, 0);

		load->vus[due.id].state = LAB_VU_FREE;
		if (piece < load->schedule->n_pieces && due.id <= load->schedule->pieces[piece].users)
			lab_vu_start(load, due.id, due.due_ns, piece, now_ns);
	}
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Sets the timer to what comes next. */
static void arm(struct lab_load_state *load, uint64_t next_tick_ns)
{
	uint64_t next_ns = next_tick_ns;

	if (load->arrivals_left)
		next_ns = earlier(next_ns, load->start_ns + (uint64_t)(load->next_arrival_s * 1e9));
	if (load->thinking.n)
		next_ns = earlier(next_ns, load->thinking.entries[0].due_ns);
	if (load->vus[0].next)
		next_ns = earlier(next_ns, load->vus[load->vus[0].next].started_ns + load->options->timeout_ns);
	if (load->schedule->closed && load->piece + 1 < load->schedule->n_pieces)
		next_ns = earlier(next_ns, load->start_ns + (uint64_t)(load->schedule->pieces[load->piece + 1].start_s * 1e9));
	if (next_ns == load->armed_ns)
		return;
	const struct itimerspec when = { .it_value = { .tv_sec = (time_t)(next_ns / LAB_NS_PER_S),
						 .tv_nsec = (long)(next_ns % LAB_NS_PER_S) } };

	load->armed_ns = next_ns;
	(void)timerfd_settime(load->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void advance_piece(struct lab_load_state *load, uint64_t now_ns)
{
	const double s = now_ns > load->start_ns ? (double)(now_ns - load->start_ns) / 1e9 : 0;

	while (load->piece < load->schedule->n_pieces &&
		s >= load->schedule->pieces[load->piece].start_s + load->schedule->pieces[load->piece].duration_s) {
		load->piece++;
		if (load->schedule->closed && load->piece < load->schedule->n_pieces)
			wake_users(load, load->piece);
	}
}

static void run(struct lab_load_state *load, lab_load_progress *progress)
{
	struct epoll_event events[EVENTS];
	uint64_t tick_ns = load->start_ns + LAB_NS_PER_S;

	while (!load->totals.interrupted && !load->error) {
		const uint64_t now_ns = lab_now_ns();

		if (now_ns >= load->start_ns) {
			advance_piece(load, now_ns);
			start_due_arrivals(load, now_ns);
			start_due_users(load, now_ns);
			lab_vu_expire(load, now_ns);
		}
		if (!load->arrivals_left && !load->thinking.n && !load->n_busy && now_ns >= load->end_ns)
			return;
		if (now_ns >= tick_ns) {
			if (progress)
				progress(&load->totals, load->schedule, load->piece, load->n_busy,
					(double)(now_ns - load->start_ns) / 1e9);
			tick_ns += LAB_NS_PER_S;
		}
		arm(load, now_ns < load->end_ns ? earlier(tick_ns, load->end_ns) : tick_ns);

		const int n = epoll_wait(load->epoll_fd, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.u32 == UINT32_MAX) { /* timer: edge, read so that it can fire again */
				(void)!read(load->timer_fd, load->buffer, 8);
				load->armed_ns = 0;
			} else if (events[i].data.u32 == UINT32_MAX - 1) {
				load->totals.interrupted = true;
			} else {
				lab_vu_event(load, events[i].data.u32, events[i].events);
			}
		}
	}
}

static int watch(struct lab_load_state *load, int fd, uint32_t id)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = id };

	return fd < 0 || epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Room for so many connections. 0, or -EMFILE with ret_error. */
static int need_descriptors(unsigned n, struct lab_error *ret_error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	if (limit.rlim_max < n + 32ull) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"%u connections need %u descriptors, this process may have %llu: ask for fewer users, or raise ulimit -Hn",
			n, n + 32, (unsigned long long)limit.rlim_max);
		return -EMFILE;
	}
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}

static int prepare(struct lab_load_state *load, const struct lab_load_options *o, struct lab_error *ret_error)
{
	sigset_t ends;
	int r;

	load->options = o;
	load->schedule = &o->schedule;
	load->epoll_fd = load->timer_fd = load->signal_fd = -1;
	load->max_vus = o->schedule.closed ? 0 : o->vus;
	for (unsigned i = 0; i < o->schedule.n_pieces; i++)
		if (o->schedule.pieces[i].users > load->max_vus)
			load->max_vus = o->schedule.pieces[i].users;
	r = need_descriptors(load->max_vus, ret_error);
	if (r < 0)
		return r;
	load->vus = calloc(load->max_vus + 1, sizeof(*load->vus));
	load->free_vus = calloc(load->max_vus + 1, sizeof(*load->free_vus));
	load->thinking.max = load->max_vus + 1;
	load->thinking.entries = calloc(load->thinking.max, sizeof(*load->thinking.entries));
	if (!load->vus || !load->free_vus || !load->thinking.entries)
		return -ENOMEM;
	for (unsigned i = 0; i <= load->max_vus; i++)
		load->vus[i].fd = -1;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	load->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	load->signal_fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	r = load->epoll_fd < 0 ? -errno : watch(load, load->timer_fd, UINT32_MAX);
	if (r == 0)
		r = watch(load, load->signal_fd, UINT32_MAX - 1);
	load->request_length = (size_t)snprintf(load->request, sizeof(load->request),
		"GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: uselab\r\n%s\r\n", o->path, o->target.text,
		o->new_connection ? "Connection: close\r\n" : "");
	lab_random_init(&load->random, o->seed, 1);
	return r;
}

/* What is under way when the run is interrupted has no answer. */
static void give_up(struct lab_load_state *load)
{
	unsigned id;

	load->end_ns = 0; /* no user thinks again */
	while ((id = load->vus[0].next))
		lab_vu_finish(load, id, LAB_OUTCOME_TIMEOUT, lab_now_ns());
}

int lab_load_run(const struct lab_load_options *options, lab_load_progress *progress, FILE *summary,
	struct lab_load_totals *ret_totals, struct lab_error *ret_error)
{
	struct lab_load_state *load = calloc(1, sizeof(*load));
	int r, done;

	ret_error->text[0] = '\0';
	if (!load)
		return -ENOMEM;
	r = prepare(load, options, ret_error);
	load->start_ns = lab_now_ns() + 10 * LAB_NS_PER_MS;
	load->end_ns = load->start_ns + (uint64_t)(options->schedule.duration_s * 1e9);
	if (r == 0)
		r = lab_record_init(&load->record, &options->schedule, options->out, load->start_ns, ret_error);
	if (r == 0) {
		if (options->schedule.closed) {
			wake_users(load, 0);
		} else {
			lab_arrivals_init(&load->arrivals, &options->schedule, options->poisson, options->seed);
			load->arrivals_left = lab_arrivals_next(&load->arrivals, &load->next_arrival_s, &load->next_piece);
		}
		run(load, progress);
		give_up(load);
		if (summary)
			lab_record_summary(&load->record, summary);
		done = lab_record_done(&load->record);
		r = load->error ? load->error : done;
		if (r < 0)
			snprintf(ret_error->text, sizeof(ret_error->text), "%s: %s; the file is not complete",
				options->out ? options->out : "results", strerror(-r));
		*ret_totals = load->totals;
	}
	if (r < 0 && !ret_error->text[0])
		snprintf(ret_error->text, sizeof(ret_error->text), "%s", strerror(-r));
	for (unsigned i = 1; load->vus && i <= load->max_vus; i++)
		lab_vu_disconnect(&load->vus[i]);
	const int fds[] = { load->epoll_fd, load->timer_fd, load->signal_fd };

	for (unsigned i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(load->vus);
	free(load->free_vus);
	free(load->thinking.entries);
	free(load);
	return r;
}
