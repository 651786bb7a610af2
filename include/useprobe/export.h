/* Export: the rows of the last tick for a Prometheus that collects many hosts (docs/EXPORT.md). libmicrohttpd is loaded (dlopen) with the
 * option, so that a run without it neither needs nor pays for it; its thread hands out a text that the tick has made. */
#ifndef UP_EXPORT_H
#define UP_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "useprobe/compiler.h"
#include "useprobe/http_guard.h"
#include "useprobe/table.h"

struct up_export;

/* Listens where GUARD says and answers GET /metrics. 0; -ENOSYS without libmicrohttpd, -EADDRINUSE, -EACCES, ... with one line in ERROR.
 * *RET_PORT is the port taken. */
UP_MUST_CHECK int up_export_open(
	const struct up_http_guard *guard, struct up_export **ret, uint16_t *ret_port, char *error, size_t error_size);
/* As a sink: SELF is struct up_export. */
int up_export_tick(void *self, const struct up_table *table);
int up_export_close(void *self);

/* TABLE as OpenMetrics 1.0 text, or in Prometheus' older text format 0.0.4. What is not known has no sample: nothing is 0 that was not
 * measured as 0. Owned by the caller; NULL without memory. Pure. */
char *up_export_text(const struct up_table *table, bool openmetrics, size_t *ret_len);

#endif
