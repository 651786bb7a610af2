#include "task_doing.h"

#include <string.h>
#include <sys/syscall.h>

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x2u
#define TASK_NOLOAD 0x400u /* an uninterruptible sleep that is no load: idle kernel threads */

/* Calls that wait for a device and for nothing else. */
static bool is_sync_call(long syscall)
{
	switch (syscall) {
	case SYS_fsync:
	case SYS_fdatasync:
	case SYS_sync:
	case SYS_syncfs:
	case SYS_sync_file_range:
	case SYS_msync:
		return true;
	default:
		return false;
	}
}

/* Calls that may read or write a file or its directory. */
static bool is_file_call(long syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
	case SYS_pread64:
	case SYS_preadv:
	case SYS_preadv2:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_copy_file_range:
	case SYS_truncate:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_getdents64:
	case SYS_openat:
	case SYS_close:
	case SYS_unlinkat:
	case SYS_renameat2:
	case SYS_linkat:
	case SYS_symlinkat:
	case SYS_mkdirat:
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_io_submit:
#ifdef SYS_open /* calls that newer architectures never had */
	case SYS_open:
	case SYS_stat:
	case SYS_lstat:
	case SYS_unlink:
	case SYS_rename:
	case SYS_renameat:
	case SYS_link:
	case SYS_symlink:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_creat:
	case SYS_getdents:
#endif
		return true;
	default:
		return is_sync_call(syscall);
	}
}

/* What a thread that sleeps interruptibly waits for. */
static enum up_doing doing_asleep(long syscall)
{
	switch (syscall) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_connect:
		return UP_DOING_SOCKET;
	case SYS_clock_nanosleep:
	case SYS_nanosleep:
		return UP_DOING_SLEEP;
	default:
		return UP_DOING_IDLE;
	}
}

/* Ready to run, but the walk is in its way: what it did before. */
static enum up_doing doing_before(const struct up_task_record *record)
{
	if (record->held_up == UP_TASK_PREEMPTED)
		return UP_DOING_RUNNING;
	if (record->in_memstall)
		return UP_DOING_MEMORY;
	return record->in_iowait || is_sync_call((long)record->syscall) ? UP_DOING_DISK : doing_asleep((long)record->syscall);
}

static enum up_doing doing_of(const struct up_task_record *record)
{
	if (record->held_up)
		return doing_before(record);
	if (record->state == 0)
		return record->on_cpu ? UP_DOING_RUNNING : UP_DOING_RUNNABLE;
	/* A page that has to be read again stalls on memory, though a device brings it. */
	if (record->in_memstall)
		return UP_DOING_MEMORY;
	if (!(record->state & TASK_UNINTERRUPTIBLE) || record->state & TASK_NOLOAD)
		return doing_asleep((long)record->syscall);
	return record->in_iowait || is_file_call((long)record->syscall) ? UP_DOING_DISK : UP_DOING_BLOCKED;
}

void up_thread_of_record(const struct up_task_record *record, struct up_thread *ret)
{
	*ret = (struct up_thread){
		.pid = record->pid,
		.tgid = record->tgid,
		.target = record->target,
		.start_ns = record->start_ns,
		.exec_ns = record->exec_ns,
		.doing = doing_of(record),
		.in_memstall = record->in_memstall != 0,
	};
	memcpy(ret->comm, record->comm, sizeof(ret->comm));
	if (ret->doing == UP_DOING_IDLE && record->syscall == SYS_futex)
		ret->futex = record->arg;
}
