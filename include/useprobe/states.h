/* States: where the requests inside a target were during a stretch of time.
 *
 * A resource is a station with m servers; a request inside is at each instant in exactly one state, so the requests in flight are a sum:
 * N = sum of n_i + unexplained. Stations are held while others are waited for; the graph of that is data (up_station_inside).
 * Sources: Little 1961; Denning and Buzen 1978 (utilization law, U = X D). docs/KNEE.md gives the rules and their limits. */
#ifndef UP_STATES_H
#define UP_STATES_H

#include "useprobe/recording.h"

enum up_station_kind {
	UP_STATION_REQUESTS, /* the whole: requests inside the target */
	UP_STATION_ACCEPT, /* connections the kernel has and nobody accepted */
	UP_STATION_UNREAD, /* requests in the socket that nobody has read */
	UP_STATION_WORKERS, /* a thread pool; its own queue is in front of it */
	UP_STATION_SERVICE, /* requests being served that no measured pool of threads holds */
	UP_STATION_CPU, /* throttled, runnable and running together */
	UP_STATION_MEMORY,
	UP_STATION_DISK,
	UP_STATION_LOCK,
	UP_STATION_CONNECTIONS, /* the pool of connections to one dependency */
	UP_STATION_DEPENDENCY,
	UP_STATION_KINDS
};

/* Precedence: the first that holds takes the request. */
enum up_request_state {
	UP_IN_FROZEN,
	UP_IN_ACCEPT_QUEUE,
	UP_IN_SOCKET,
	UP_IN_WORKER_QUEUE,
	UP_IN_THROTTLED,
	UP_IN_MEMORY_STALL,
	UP_IN_RUNNABLE,
	UP_IN_RUNNING,
	UP_IN_BLOCK_IO,
	UP_IN_LOCK,
	UP_IN_POOL_WAIT,
	UP_IN_DEPENDENCY,
	UP_IN_SLEEP, /* its thread sleeps for a time: a pause in the code */
	UP_IN_UNEXPLAINED,
	UP_REQUEST_STATES
};

struct up_station {
	enum up_station_kind kind;
	size_t track; /* index of the row it stands for; SIZE_MAX when it is computed from others */
	double waiting; /* mean length of its own queue, in requests or tasks; NAN = not known */
	double busy; /* mean number of its servers in use; NAN = not known */
	double servers; /* m; NAN = not known */
	double utilization; /* busy / m, of the tightest of nested limits; NAN = not known */
	double inside; /* requests counted in its states by the partition: n_i */
	/* CPU only: what waiting is made of. */
	double throttled, contended;
	double asleep; /* WORKERS only: busy threads that sleep for a time; NAN */
	size_t limit_track; /* row that names the limit: the cpu row of the target or an ancestor, the connection-pool row; SIZE_MAX */
};

#define UP_STATIONS_MAX 96

struct up_states {
	int64_t from_us, to_us;
	size_t ticks; /* samples of the requests row */
	double covered_s;
	bool known; /* requests in flight and departures were measured */
	double n; /* requests inside, accept queue included */
	double arrivals, departures; /* in the window, the kernel's */
	double x_per_s; /* departures per second */
	bool settled; /* |a - c| <= 5 % of c */
	double residence_ms, residence_lo_ms, residence_hi_ms; /* equal when settled */
	double state[UP_REQUEST_STATES]; /* n_i; they add up to n */
	double thread_scale; /* states of threads were scaled by this to fit into n; 1 = not at all */
	double outside_cpus; /* CPUs used outside the targets; NAN */
	double frozen_share; /* of the time; 0 without a row */
	double connections; /* open connections of clients; NAN */
	size_t owner; /* index into at of the pool whose threads serve the requests; SIZE_MAX = none known */
	struct up_station at[UP_STATIONS_MAX];
	size_t n_stations;
};

/* What of a target does not change within a run: which rows belong to it. */
struct up_subject {
	const char *target; /* borrowed from the recording; NULL = rows without target */
	size_t pool_track; /* thread-pool row whose busy threads follow the requests in flight; SIZE_MAX = none */
	bool threaded; /* its threads hold the requests while these are at a dependency (not an event loop) */
};

/* Names of the targets that have a requests row, in the order of the recording. Returns how many of RET [max] were filled. */
size_t up_subjects(const struct up_recording *recording, struct up_subject *ret, size_t max);

/* States of SUBJECT in [from_us, to_us). ret->known is false when its requests were not measured then. */
void up_states_compute(const struct up_recording *recording, const struct up_subject *subject, int64_t from_us, int64_t to_us,
	struct up_states *ret);

/* Hold time in ms: how long one request keeps a server; residence: its own queue too. NAN = not known. */
double up_station_hold_ms(const struct up_states *states, const struct up_station *station);
double up_station_residence_ms(const struct up_states *states, const struct up_station *station);
/* The station of STATES that stands for the same thing as STATION of another window, or NULL. */
const struct up_station *up_states_find(const struct up_states *states, const struct up_station *station);

/* The held-while graph: true when INNER may be waited for or used while OUTER is held. */
bool up_station_inside(enum up_station_kind outer, enum up_station_kind inner);
/* "worker queue", "block I/O", ... */
const char *up_request_state_name(enum up_request_state state);
/* Resource word of a station: "cpu", "thread-pool", ... */
const char *up_station_resource(enum up_station_kind kind);

#endif
