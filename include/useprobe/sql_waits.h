/* Wait types of databases: which resource each stands for, and which are only threads that wait for work. Pure tables.
 * Source: MicrosoftDocs sys-dm-os-wait-stats; the category lists of Telegraf and sql_exporter, regrouped by resource; PostgreSQL
 * documentation, "Wait Event Types". docs/SQL.md shows them. */
#ifndef UP_SQL_WAITS_H
#define UP_SQL_WAITS_H

#include <stdbool.h>

enum up_sql_class {
	UP_SQL_OTHER, /* known or not, no resource of its own */
	UP_SQL_WORKERS,
	UP_SQL_COMPILE, /* compile gateway */
	UP_SQL_MEMORY_GRANT,
	UP_SQL_LOCK,
	UP_SQL_LATCH,
	UP_SQL_BUFFER_IO,
	UP_SQL_LOG_IO,
	UP_SQL_OTHER_IO,
	UP_SQL_NETWORK, /* the client does not take or send */
	UP_SQL_PARALLELISM,
	UP_SQL_CPU,
	UP_SQL_EXTERNAL,
	UP_SQL_REPLICATION,
	UP_SQL_BACKUP,
	UP_SQL_TRANSACTION,
	UP_SQL_CLASSES, /* how many */
};

/* Class of TYPE: a SQL Server wait type ("LCK_M_X"), or PostgreSQL's event type and event with a colon ("Lock:tuple"), or "CPU". */
enum up_sql_class up_sql_wait_class(const char *type);
/* Threads that wait for work or a timer: never in a verdict. */
bool up_sql_wait_ignorable(const char *type);
/* "memory-grant": as in the CSV's name, the bridge's JSON and docs/SQL.md. "other" for what is out of range. */
const char *up_sql_class_name(enum up_sql_class class);
/* The class NAME stands for; UP_SQL_CLASSES when it is none. */
enum up_sql_class up_sql_class_parse(const char *name);

#endif
