/* Computed rows: what follows from the rows of several collectors together. One kind so far:
 *
 * connection-pool, named by the peer. A pool inside a program cannot be seen from outside, its connections can: while their number stays
 * the same and (nearly) all have a query under way, the requests that are in the hands of the program and in no other state wait for one.
 * The states are those of the analysis (useprobe/states.h) over the last seconds, so that the live view and the report say the same. The
 * row stands only while the pool is full and somebody waits; with --conn-max, which tells its size, always.
 * Unit: requests. It is an inference, and its method says "computed". */
#ifndef UP_COMPUTED_H
#define UP_COMPUTED_H

#include "useprobe/collector.h"
#include "useprobe/table.h"

struct up_computed;

/* "[PEER=]N" of --conn-max. PEER is ADDR:PORT or what --name calls it, "" = the only dependency. 0 or -EINVAL. */
#define UP_CONN_MAX_PEER 128
UP_MUST_CHECK int up_conn_max_parse(const char *value, char ret_peer[UP_CONN_MAX_PEER], double *ret_connections);

/* 0 or -ENOMEM. */
UP_MUST_CHECK int up_computed_new(struct up_computed **ret);
void up_computed_free(struct up_computed *computed);
/* Adds to ROWS what follows from them (and from those of the ticks before). ENV gives the options. Without memory there is no computed
 * row: -ENOMEM. */
UP_MUST_CHECK int up_computed_add(
	struct up_computed *computed, const struct up_env *env, const struct up_tick *tick, struct up_rows *rows);

#endif
