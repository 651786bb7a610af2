/* Wait types and their classes. SQL Server names are upper case with '_', PostgreSQL's are "Type:Event", so one table holds both. */
#include "useprobe/sql_waits.h"

#include <stddef.h>
#include <string.h>

#include "useprobe/compiler.h"

static const char *const class_names[UP_SQL_CLASSES] = {
	[UP_SQL_OTHER] = "other",
	[UP_SQL_WORKERS] = "workers",
	[UP_SQL_COMPILE] = "compile",
	[UP_SQL_MEMORY_GRANT] = "memory-grant",
	[UP_SQL_LOCK] = "lock",
	[UP_SQL_LATCH] = "latch",
	[UP_SQL_BUFFER_IO] = "buffer-io",
	[UP_SQL_LOG_IO] = "log-io",
	[UP_SQL_OTHER_IO] = "other-io",
	[UP_SQL_NETWORK] = "network",
	[UP_SQL_PARALLELISM] = "parallelism",
	[UP_SQL_CPU] = "cpu",
	[UP_SQL_EXTERNAL] = "external",
	[UP_SQL_REPLICATION] = "replication",
	[UP_SQL_BACKUP] = "backup",
	[UP_SQL_TRANSACTION] = "transaction",
};

/* First match wins; a trailing '*' matches any rest. */
static const struct {
	const char *type;
	enum up_sql_class class;
} classes[] = {
	{ "THREADPOOL", UP_SQL_WORKERS },
	{ "RESOURCE_SEMAPHORE_QUERY_COMPILE", UP_SQL_COMPILE },
	{ "RESOURCE_SEMAPHORE_SMALL_QUERY", UP_SQL_COMPILE },
	{ "RESOURCE_SEMAPHORE_MUTEX", UP_SQL_COMPILE },
	{ "RESOURCE_SEMAPHORE", UP_SQL_MEMORY_GRANT },
	{ "MEMORY_GRANT_UPDATE", UP_SQL_MEMORY_GRANT },
	{ "LCK_*", UP_SQL_LOCK },
	{ "PAGEIOLATCH_*", UP_SQL_BUFFER_IO },
	{ "PAGELATCH_*", UP_SQL_LATCH },
	{ "LATCH_*", UP_SQL_LATCH },
	{ "CMEMTHREAD", UP_SQL_LATCH },
	{ "WRITELOG", UP_SQL_LOG_IO },
	{ "LOGBUFFER", UP_SQL_LOG_IO },
	{ "LOGMGR_FLUSH", UP_SQL_LOG_IO },
	{ "LOGMGR_RESERVE_APPEND", UP_SQL_LOG_IO },
	{ "LOGMGR_PMM_LOG", UP_SQL_LOG_IO },
	{ "LOG_RATE_GOVERNOR", UP_SQL_LOG_IO },
	{ "POOL_LOG_RATE_GOVERNOR", UP_SQL_LOG_IO },
	{ "ASYNC_IO_COMPLETION", UP_SQL_OTHER_IO },
	{ "IO_COMPLETION", UP_SQL_OTHER_IO },
	{ "WRITE_COMPLETION", UP_SQL_OTHER_IO },
	{ "IO_QUEUE_LIMIT", UP_SQL_OTHER_IO },
	{ "IO_RETRY", UP_SQL_OTHER_IO },
	{ "BACKUPIO", UP_SQL_OTHER_IO },
	{ "BACKUPBUFFER", UP_SQL_OTHER_IO },
	{ "ASYNC_NETWORK_IO", UP_SQL_NETWORK },
	{ "NET_WAITFOR_PACKET", UP_SQL_NETWORK },
	{ "PROXY_NETWORK_IO", UP_SQL_NETWORK },
	{ "CXPACKET", UP_SQL_PARALLELISM },
	{ "CXCONSUMER", UP_SQL_PARALLELISM },
	{ "CXSYNC_*", UP_SQL_PARALLELISM },
	{ "EXCHANGE", UP_SQL_PARALLELISM },
	{ "HT*", UP_SQL_PARALLELISM },
	{ "BMP*", UP_SQL_PARALLELISM },
	{ "BP*", UP_SQL_PARALLELISM },
	{ "SOS_SCHEDULER_YIELD", UP_SQL_CPU },
	{ "PREEMPTIVE_*", UP_SQL_EXTERNAL },
	{ "OLEDB", UP_SQL_EXTERNAL },
	{ "DTC*", UP_SQL_EXTERNAL },
	{ "MSQL_DQ", UP_SQL_EXTERNAL },
	{ "CLR_*", UP_SQL_EXTERNAL },
	{ "SQLCLR_*", UP_SQL_EXTERNAL },
	{ "HADR_*", UP_SQL_REPLICATION },
	{ "PWAIT_HADR_*", UP_SQL_REPLICATION },
	{ "REPLICA_*", UP_SQL_REPLICATION },
	{ "DBMIRROR*", UP_SQL_REPLICATION },
	{ "BACKUP", UP_SQL_BACKUP },
	{ "BACKUP_OPERATOR", UP_SQL_BACKUP },
	{ "BACKUPTHREAD", UP_SQL_BACKUP },
	{ "XACT*", UP_SQL_TRANSACTION },
	{ "TRAN_*", UP_SQL_TRANSACTION },
	{ "CPU", UP_SQL_CPU },
	{ "Lock:*", UP_SQL_LOCK },
	{ "LWLock:WAL*", UP_SQL_LOG_IO }, /* WALWrite is held over the write; WALInsert waits for room in its buffers */
	{ "LWLock:*", UP_SQL_LATCH },
	{ "BufferPin:*", UP_SQL_LATCH },
	{ "IO:WAL*", UP_SQL_LOG_IO },
	{ "IO:WalSync", UP_SQL_LOG_IO }, /* the names since PostgreSQL 17 */
	{ "IO:WalWrite", UP_SQL_LOG_IO },
	{ "IO:DataFile*", UP_SQL_BUFFER_IO },
	{ "IO:Buf*", UP_SQL_BUFFER_IO },
	{ "IO:*", UP_SQL_OTHER_IO },
	{ "Client:*", UP_SQL_NETWORK },
	{ "IPC:Parallel*", UP_SQL_PARALLELISM },
	{ "IPC:ExecuteGather", UP_SQL_PARALLELISM },
	{ "IPC:Hash*", UP_SQL_PARALLELISM },
	{ "IPC:MessageQueue*", UP_SQL_PARALLELISM },
	{ "IPC:BgWorker*", UP_SQL_PARALLELISM },
	{ "IPC:BtreePage", UP_SQL_PARALLELISM },
	{ "IPC:Append*", UP_SQL_PARALLELISM },
	{ "IPC:SyncRep", UP_SQL_REPLICATION },
	{ "IPC:Backup*", UP_SQL_BACKUP },
	{ "Extension:*", UP_SQL_EXTERNAL },
};

static const char *const ignorable[] = {
	"Activity:*",
	"Client:ClientRead",
	"BROKER_EVENTHANDLER",
	"BROKER_RECEIVE_WAITFOR",
	"BROKER_TASK_STOP",
	"BROKER_TO_FLUSH",
	"BROKER_TRANSMITTER",
	"CHECKPOINT_QUEUE",
	"CHKPT",
	"CLR_AUTO_EVENT",
	"CLR_MANUAL_EVENT",
	"CLR_SEMAPHORE",
	"DBMIRROR_DBM_EVENT",
	"DBMIRROR_EVENTS_QUEUE",
	"DBMIRROR_WORKER_QUEUE",
	"DBMIRRORING_CMD",
	"DIRTY_PAGE_POLL",
	"DISPATCHER_QUEUE_SEMAPHORE",
	"EXECSYNC",
	"FSAGENT",
	"FT_IFTS_SCHEDULER_IDLE_WAIT",
	"FT_IFTSHC_MUTEX",
	"HADR_CLUSAPI_CALL",
	"HADR_FILESTREAM_IOMGR_IOCOMPLETION",
	"HADR_LOGCAPTURE_WAIT",
	"HADR_NOTIFICATION_DEQUEUE",
	"HADR_TIMER_TASK",
	"HADR_WORK_QUEUE",
	"KSOURCE_WAKEUP",
	"LAZYWRITER_SLEEP",
	"LOGMGR_QUEUE",
	"MEMORY_ALLOCATION_EXT",
	"ONDEMAND_TASK_QUEUE",
	"PARALLEL_REDO_DRAIN_WORKER",
	"PARALLEL_REDO_LOG_CACHE",
	"PARALLEL_REDO_TRAN_LIST",
	"PARALLEL_REDO_WORKER_SYNC",
	"PARALLEL_REDO_WORKER_WAIT_WORK",
	"PREEMPTIVE_OS_FLUSHFILEBUFFERS",
	"PREEMPTIVE_XE_CALLBACKEXECUTE",
	"PREEMPTIVE_XE_DISPATCHER",
	"PREEMPTIVE_XE_GETTARGETSTATE",
	"PREEMPTIVE_XE_SESSIONCOMMIT",
	"PREEMPTIVE_XE_TARGETINIT",
	"PREEMPTIVE_XE_TARGETFINALIZE",
	"PREEMPTIVE_HADR_LEASE_MECHANISM",
	"PREEMPTIVE_SP_SERVER_DIAGNOSTICS",
	"PVS_PREALLOCATE",
	"PWAIT_ALL_COMPONENTS_INITIALIZED",
	"PWAIT_DIRECTLOGCONSUMER_GETNEXT",
	"PWAIT_EXTENSIBILITY_CLEANUP_TASK",
	"QDS_ASYNC_QUEUE",
	"QDS_CLEANUP_STALE_QUERIES_TASK_MAIN_LOOP_SLEEP",
	"QDS_PERSIST_TASK_MAIN_LOOP_SLEEP",
	"QDS_SHUTDOWN_QUEUE",
	"REDO_THREAD_PENDING_WORK",
	"REQUEST_FOR_DEADLOCK_SEARCH",
	"RESOURCE_QUEUE",
	"SERVER_IDLE_CHECK",
	"SLEEP_BPOOL_FLUSH",
	"SLEEP_DBSTARTUP",
	"SLEEP_DCOMSTARTUP",
	"SLEEP_MASTERDBREADY",
	"SLEEP_MASTERMDREADY",
	"SLEEP_MASTERUPGRADED",
	"SLEEP_MSDBSTARTUP",
	"SLEEP_SYSTEMTASK",
	"SLEEP_TASK",
	"SLEEP_TEMPDBSTARTUP",
	"SNI_HTTP_ACCEPT",
	"SOS_WORK_DISPATCHER",
	"SOS_WORKER_MIGRATION",
	"SP_SERVER_DIAGNOSTICS_SLEEP",
	"SQLTRACE_BUFFER_FLUSH",
	"SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
	"SQLTRACE_WAIT_ENTRIES",
	"UCS_SESSION_REGISTRATION",
	"VDI_CLIENT_OTHER",
	"WAIT_FOR_RESULTS",
	"WAITFOR",
	"WAITFOR_TASKSHUTDOWN",
	"WAIT_XTP_CKPT_CLOSE",
	"WAIT_XTP_HOST_WAIT",
	"WAIT_XTP_OFFLINE_CKPT_NEW_LOG",
	"WAIT_XTP_RECOVERY",
	"XE_BUFFERMGR_ALLPROCESSED_EVENT",
	"XE_DISPATCHER_JOIN",
	"XE_DISPATCHER_WAIT",
	"XE_LIVE_TARGET_TVF",
	"XE_TIMER_EVENT",
};

static bool matches(const char *pattern, const char *type)
{
	size_t len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*')
		return strncmp(pattern, type, len - 1) == 0;
	return strcmp(pattern, type) == 0;
}

enum up_sql_class up_sql_wait_class(const char *type)
{
	for (size_t i = 0; i < UP_COUNT(classes); i++)
		if (matches(classes[i].type, type))
			return classes[i].class;
	return UP_SQL_OTHER;
}

bool up_sql_wait_ignorable(const char *type)
{
	for (size_t i = 0; i < UP_COUNT(ignorable); i++)
		if (matches(ignorable[i], type))
			return true;
	return false;
}

const char *up_sql_class_name(enum up_sql_class class)
{
	return (unsigned)class < UP_SQL_CLASSES ? class_names[class] : class_names[UP_SQL_OTHER];
}

enum up_sql_class up_sql_class_parse(const char *name)
{
	for (unsigned i = 0; i < UP_SQL_CLASSES; i++)
		if (strcmp(class_names[i], name) == 0)
			return (enum up_sql_class)i;
	return UP_SQL_CLASSES;
}
