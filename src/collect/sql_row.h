/* Rows of one database from two samples of the SQL bridge. Private to src/collect. */
#ifndef UP_SQL_ROW_H
#define UP_SQL_ROW_H

#include "useprobe/row.h"
#include "useprobe/sql_sample.h"

/* Adds the row of the database NAME and one for each class of waits. P NULL = no earlier sample. */
void sql_add_rows(const char *name, const struct up_sql_sample *p, const struct up_sql_sample *c, struct up_rows *out);

#endif
