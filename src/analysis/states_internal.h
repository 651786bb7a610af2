/* Shared by the files that compute states: rows of one target over one window, gathered into stations. */
#ifndef UP_STATES_INTERNAL_H
#define UP_STATES_INTERNAL_H

#include "useprobe/states.h"

#define UP_DEPENDENCIES_MAX 16

/* One dependency, before it becomes two stations: its connections and what is behind them. */
struct up_link {
	size_t track; /* dependency row */
	size_t pool_track; /* connection-pool row of the same peer; SIZE_MAX = none */
	double busy; /* queries under way, to the arrival of the answer */
	double reading; /* connections whose answer has arrived and was not read yet */
	double open; /* NAN */
	bool flat; /* the number of open connections does not change */
	bool full; /* and all of them are in use */
	double servers; /* size of the pool as far as known: NAN */
	double counted_waiting; /* from a counter of the application's; NAN */
	double waiting; /* set by the inference */
	double inside_wait, inside_query; /* n_i, set by the partition */
};

struct up_gathered {
	const struct up_recording *recording;
	const struct up_subject *subject;
	struct up_states *states;
	double accept, unread;
	struct up_link link[UP_DEPENDENCIES_MAX];
	size_t n_links;
};

bool up_subject_has(const struct up_subject *subject, const struct up_track *track);
/* Reads all rows of the window into G; the stations of links and of the queue are not there yet. */
void up_states_gather(struct up_gathered *g);
/* Splits N by precedence and adds the stations that follow from it. */
void up_states_partition(struct up_gathered *g);
/* First track that stands for the same pool as TRACK: processes of one name with threads of one name are one pool (prefork, restarts). */
size_t up_pool_first(const struct up_recording *recording, size_t track);
struct up_station *up_states_add(struct up_states *states, enum up_station_kind kind, size_t track);

#endif
