/* One ODBC connection: the only file that knows the driver manager is odbc.c. Used by the worker's thread alone. */
#ifndef BRIDGE_ODBC_H
#define BRIDGE_ODBC_H

#include "bridge.h"

struct bridge_odbc;

/* Why a call failed. */
struct bridge_diag {
	char sqlstate[6];
	int native; /* 300, 18456, ... */
	char message[400]; /* one line, secrets blotted out */
};

/* Connects. 0; -EACCES login refused; -ETIMEDOUT; -EIO, all with DIAG. */
UP_MUST_CHECK int bridge_odbc_open(const struct bridge_options *options, struct bridge_odbc **ret, struct bridge_diag *diag);
void bridge_odbc_close(struct bridge_odbc *odbc);
/* "Microsoft SQL Server", "16.00.1000". */
void bridge_odbc_product(struct bridge_odbc *odbc, char *name, char *version, size_t size);
bool bridge_odbc_dead(struct bridge_odbc *odbc);

/* Called for each row of the RESULT-th result set. Anything but 0 ends the query with it. */
typedef int bridge_row_fn(void *context, unsigned result, const struct bridge_row *row);

/* Runs SQL (a batch of any number of statements). 0; -EACCES a right is missing; -ENOENT an object or column is; -ETIMEDOUT;
 * -E2BIG more than 8,192 rows; what FN returned; -EIO. */
UP_MUST_CHECK int bridge_odbc_run(
	struct bridge_odbc *odbc, const char *sql, bridge_row_fn *fn, void *context, struct bridge_diag *diag);

#endif
