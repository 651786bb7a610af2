/* The held-while graph and the words for stations and states: data, and look-ups in it. */
#include <math.h>
#include <string.h>

#include "useprobe/states.h"

#define BIT(kind) (1u << UP_STATION_##kind)
/* What a thread that serves a request may wait for or use. Connections are held by the request; the dependency by the connection. */
#define WORK (BIT(CPU) | BIT(MEMORY) | BIT(DISK) | BIT(LOCK) | BIT(CONNECTIONS))

static const struct {
	const char *resource;
	unsigned inside; /* bit set of kinds */
} stations[UP_STATION_KINDS] = {
	[UP_STATION_REQUESTS] = { "requests", BIT(ACCEPT) | BIT(UNREAD) | BIT(WORKERS) | BIT(SERVICE) },
	[UP_STATION_ACCEPT] = { "listen", 0 },
	[UP_STATION_UNREAD] = { "requests", 0 },
	[UP_STATION_WORKERS] = { "thread-pool", WORK },
	[UP_STATION_SERVICE] = { "requests", WORK },
	[UP_STATION_CPU] = { "cpu", 0 },
	[UP_STATION_MEMORY] = { "memory", 0 },
	[UP_STATION_DISK] = { "disk", 0 },
	[UP_STATION_LOCK] = { "lock", 0 },
	/* The answer is read by a thread that needs a CPU while the connection is still taken. */
	[UP_STATION_CONNECTIONS] = { "connection-pool", BIT(DEPENDENCY) | BIT(CPU) | BIT(MEMORY) },
	[UP_STATION_DEPENDENCY] = { "dependency", 0 },
};

static const char *const state_names[UP_REQUEST_STATES] = {
	[UP_IN_FROZEN] = "frozen",
	[UP_IN_ACCEPT_QUEUE] = "accept queue",
	[UP_IN_SOCKET] = "unread in the socket",
	[UP_IN_WORKER_QUEUE] = "worker queue",
	[UP_IN_THROTTLED] = "throttled",
	[UP_IN_MEMORY_STALL] = "memory stall",
	[UP_IN_RUNNABLE] = "runnable",
	[UP_IN_RUNNING] = "running",
	[UP_IN_BLOCK_IO] = "block I/O",
	[UP_IN_LOCK] = "lock",
	[UP_IN_POOL_WAIT] = "pool wait",
	[UP_IN_DEPENDENCY] = "at a dependency",
	[UP_IN_SLEEP] = "asleep",
	[UP_IN_UNEXPLAINED] = "unexplained",
};

bool up_station_inside(enum up_station_kind outer, enum up_station_kind inner)
{
	return (stations[outer].inside & (1u << inner)) != 0;
}

const char *up_station_resource(enum up_station_kind kind)
{
	return stations[kind].resource;
}

const char *up_request_state_name(enum up_request_state state)
{
	return state_names[state];
}

double up_station_hold_ms(const struct up_states *states, const struct up_station *station)
{
	return states->x_per_s > 0 ? 1e3 * station->busy / states->x_per_s : NAN;
}

double up_station_residence_ms(const struct up_states *states, const struct up_station *station)
{
	const double waiting = isnan(station->waiting) ? 0 : station->waiting, busy = isnan(station->busy) ? 0 : station->busy;

	return states->x_per_s > 0 ? 1e3 * (waiting + busy) / states->x_per_s : NAN;
}

const struct up_station *up_states_find(const struct up_states *states, const struct up_station *station)
{
	for (size_t i = 0; i < states->n_stations; i++) {
		const struct up_station *other = &states->at[i];

		if (other->kind == station->kind && (other->track == station->track || station->kind == UP_STATION_CPU))
			return other;
	}
	return NULL;
}
