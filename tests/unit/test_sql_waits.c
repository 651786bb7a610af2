/* Which resource a database's wait stands for, and which waits are idle threads. */
#include "check.h"
#include "useprobe/sql_waits.h"

static void classes(void **state)
{
	static const struct {
		const char *type, *name;
	} cases[] = {
		{ "THREADPOOL", "workers" },
		{ "RESOURCE_SEMAPHORE", "memory-grant" },
		{ "RESOURCE_SEMAPHORE_QUERY_COMPILE", "compile" },
		{ "RESOURCE_SEMAPHORE_QUERY_COMPILE2", "other" },
		{ "LCK_M_X", "lock" },
		{ "LCK_M_RIn_NL", "lock" },
		{ "CMEMTHREAD", "latch" },
		{ "PAGELATCH_EX", "latch" },
		{ "PAGEIOLATCH_SH", "buffer-io" },
		{ "LATCH_EX", "latch" },
		{ "WRITELOG", "log-io" },
		{ "LOGMGR_QUEUE", "other" },
		{ "IO_COMPLETION", "other-io" },
		{ "ASYNC_NETWORK_IO", "network" },
		{ "CXSYNC_PORT", "parallelism" },
		{ "HTBUILD", "parallelism" },
		{ "SOS_SCHEDULER_YIELD", "cpu" },
		{ "PREEMPTIVE_OS_WRITEFILE", "external" },
		{ "HADR_SYNC_COMMIT", "replication" },
		{ "BACKUPIO", "other-io" },
		{ "BACKUP", "backup" },
		{ "XACTLOCKINFO", "transaction" },
		{ "", "other" },
		{ "lck_m_x", "other" },
		{ "CPU", "cpu" },
		{ "CPUS", "other" },
		{ "Lock:transactionid", "lock" },
		{ "LWLock:LockManager", "latch" },
		{ "LWLock:WALWrite", "log-io" },
		{ "IO:WALSync", "log-io" },
		{ "IO:WalSync", "log-io" },
		{ "IO:DataFileRead", "buffer-io" },
		{ "IO:SLRURead", "other-io" },
		{ "Client:ClientWrite", "network" },
		{ "IPC:ExecuteGather", "parallelism" },
		{ "IPC:SyncRep", "replication" },
		{ "Timeout:PgSleep", "other" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(up_sql_class_name(up_sql_wait_class(cases[i].type)), cases[i].name);
}

static void idle(void **state)
{
	static const char *const idle_types[] = { "LAZYWRITER_SLEEP", "XE_TIMER_EVENT", "WAITFOR", "EXECSYNC",
		"Activity:WalWriterMain", "Client:ClientRead" };
	static const char *const real[] = { "THREADPOOL", "RESOURCE_SEMAPHORE", "RESOURCE_SEMAPHORE_QUERY_COMPILE", "LCK_M_S",
		"LCK_M_X", "WRITELOG", "WAITFOR_", "Client:ClientWrite", "Lock:tuple", "CPU", "", "HADR_SYNC_COMMIT" };

	(void)state;
	for (unsigned i = 0; i < sizeof(idle_types) / sizeof(idle_types[0]); i++)
		assert_true(up_sql_wait_ignorable(idle_types[i]));
	for (unsigned i = 0; i < sizeof(real) / sizeof(real[0]); i++)
		assert_false(up_sql_wait_ignorable(real[i]));
}

static void names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < UP_SQL_CLASSES; i++)
		assert_int_equal(up_sql_class_parse(up_sql_class_name((enum up_sql_class)i)), i);
	assert_int_equal(up_sql_class_parse("locks"), UP_SQL_CLASSES);
	assert_string_equal(up_sql_class_name(UP_SQL_CLASSES), "other");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(classes), cmocka_unit_test(idle), cmocka_unit_test(names) };

	return cmocka_run_group_tests_name("sql_waits", tests, NULL, NULL);
}
