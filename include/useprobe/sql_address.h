/* "[NAME=]URL" of --sql. */
#ifndef UP_SQL_ADDRESS_H
#define UP_SQL_ADDRESS_H

#include <stddef.h>

#include "useprobe/compiler.h"

#define UP_SQL_SOURCES_MAX 4
#define UP_SQL_NAME 128

struct up_sql_address {
	char name[UP_SQL_NAME]; /* "" = as the bridge calls its database */
	char url[1024]; /* with /sample when the address names no path */
};

/* 0; -EINVAL with what was expected in ERROR (never the value itself: it may hold a password). */
UP_MUST_CHECK int up_sql_address_parse(const char *value, struct up_sql_address *ret, char *error, size_t error_size);

#endif
