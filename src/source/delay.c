/* The delay service: picks the best method once, reads each target once a tick. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delay_internal.h"

UP_PRINTF(3, 4) static void refuse(struct up_delay *delay, enum up_delay_method method, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(delay->reason[method], sizeof(delay->reason[method]), format, arguments);
	va_end(arguments);
}

static void taskstats_try(struct up_delay *delay)
{
	const int r = up_taskstats_open(&delay->taskstats);

	if (r == 0)
		return;
	if (r == -EPERM)
		refuse(delay, UP_DELAY_TASKSTATS, "CAP_NET_ADMIN is missing");
	else if (r == -ENOENT)
		refuse(delay, UP_DELAY_TASKSTATS, "kernel without CONFIG_TASKSTATS");
	else
		refuse(delay, UP_DELAY_TASKSTATS, "taskstats over netlink: %s", strerror(-r));
}

static void bpf_try(struct up_delay *delay)
{
	char why[UP_DELAY_REASON_BYTES];
	int r = up_delay_bpf_new(0, &delay->bpf, why, sizeof(why));

	if (r < 0) {
		refuse(delay, UP_DELAY_BPF, "%s", why);
		return;
	}
	r = up_delay_bpf_retarget(delay->bpf, delay->targets);
	if (r < 0) {
		refuse(delay, UP_DELAY_BPF, "target map: %s", strerror(-r));
		up_delay_bpf_free(delay->bpf);
		delay->bpf = NULL;
	}
}

int up_delay_new(const struct up_source *source, const struct up_targets *targets, struct up_delay **ret)
{
	struct up_delay *delay = calloc(1, sizeof(*delay));

	if (!delay)
		return -ENOMEM;
	delay->targets = targets;
	if (source->recorded) {
		refuse(delay, UP_DELAY_BPF, "recorded tree");
		refuse(delay, UP_DELAY_TASKSTATS, "recorded tree");
	} else {
		bpf_try(delay);
		taskstats_try(delay);
	}
	delay->method = delay->bpf ? UP_DELAY_BPF : delay->taskstats.fd_plus_1 ? UP_DELAY_TASKSTATS : UP_DELAY_SCHEDSTAT;
	*ret = delay;
	return 0;
}

void up_delay_free(struct up_delay *delay)
{
	if (!delay)
		return;
	up_delay_bpf_free(delay->bpf);
	up_taskstats_close(&delay->taskstats);
	for (size_t i = 0; i < UP_COUNT(delay->accounts); i++)
		up_ledger_done(&delay->accounts[i].ledger);
	free(delay);
}

void up_delay_retarget(struct up_delay *delay, const struct up_targets *targets)
{
	/* The ledgers need no word: whoever is new in a target's list of processes is told from its start time. */
	delay->targets = targets;
	if (delay->bpf && up_delay_bpf_retarget(delay->bpf, targets) < 0)
		refuse(delay, UP_DELAY_BPF, "target map: %s", strerror(errno));
}

/* All processes of the machine. 0; -E2BIG beyond what one tick should ask for. */
static int host_pids(const struct up_source *source, struct up_arena *arena, pid_t **ret_pids, size_t *ret_count)
{
	pid_t *pids = up_arena_alloc(arena, UP_DELAY_HOST_PROCESSES * sizeof(*pids));
	DIR *dir = up_source_opendir(source, "proc");
	size_t count = 0;
	int r = 0;

	if (!dir)
		return -errno;
	for (const struct dirent *entry; (entry = readdir(dir));) {
		uint64_t pid;

		if (up_scan_whole_u64(entry->d_name, &pid) < 0 || pid > INT32_MAX)
			continue;
		if (!pids || count == UP_DELAY_HOST_PROCESSES) {
			r = pids ? -E2BIG : -ENOMEM;
			break;
		}
		pids[count++] = (pid_t)pid;
	}
	closedir(dir);
	if (r < 0)
		return r;
	*ret_pids = pids;
	*ret_count = count;
	return 0;
}

static int host_read(
	struct up_delay *delay, struct up_delay_account *account, const struct up_source *source, struct up_arena *arena)
{
	pid_t *pids = NULL;
	size_t count = 0;
	int r = up_delay_read_host_file(account, source, arena);

	if (r != -ENOENT)
		return r;
	if (!delay->taskstats.fd_plus_1)
		return -ENOENT;
	r = host_pids(source, arena, &pids, &count);
	if (r < 0)
		return r == -E2BIG ? -ENOENT : r;
	r = up_delay_read_taskstats(delay, account, source, arena, pids, count);
	account->sample.lower_bound = true; /* nobody sees the processes that came and went */
	return r;
}

static int target_read(struct up_delay *delay, struct up_delay_account *account, const struct up_source *source,
	struct up_arena *arena, const struct up_target *target)
{
	pid_t *pids;
	size_t count;
	int r = up_target_pids(target, source, arena, &pids, &count);

	if (r < 0)
		return r;
	if (delay->taskstats.fd_plus_1)
		r = up_delay_read_taskstats(delay, account, source, arena, pids, count);
	else
		r = up_delay_read_schedstat(account, source, arena, pids, count);
	if (r == 0)
		up_delay_read_throttled(&account->sample, source, arena, target);
	return r;
}

/* Sample by BPF, when the program can tell the target from the others. */
static bool bpf_read(struct up_delay *delay, struct up_delay_account *account, size_t index, uint64_t tick)
{
	if (!delay->bpf || !up_delay_bpf_serves(delay->bpf, index))
		return false;
	if (delay->refreshed_tick_plus_1 != tick + 1) {
		up_delay_bpf_refresh(delay->bpf);
		delay->refreshed_tick_plus_1 = tick + 1;
	}
	up_delay_bpf_read(delay->bpf, index, account->buckets, &account->sample);
	return true;
}

int up_delay_read(struct up_delay *delay, const struct up_source *source, struct up_arena *arena, const struct up_target *target,
	uint64_t tick, struct up_delay_sample *ret)
{
	const size_t index = target ? (size_t)(target - delay->targets->items) : UP_DELAY_HOST;
	struct up_delay_account *account;

	if (index >= UP_COUNT(delay->accounts))
		return -EINVAL;
	account = &delay->accounts[index];
	if (account->tick_plus_1 != tick + 1) {
		if (bpf_read(delay, account, index, tick))
			account->result = 0;
		else if (target)
			account->result = target_read(delay, account, source, arena, target);
		else
			account->result = host_read(delay, account, source, arena);
		account->tick_plus_1 = tick + 1;
	}
	if (account->result < 0)
		return account->result;
	*ret = account->sample;
	if (account->sample.buckets) {
		uint64_t *copy = up_arena_alloc(arena, sizeof(account->buckets));

		if (!copy)
			return -ENOMEM;
		ret->buckets = memcpy(copy, account->buckets, sizeof(account->buckets));
	}
	return 0;
}

const char *up_delay_reason(const struct up_delay *delay, enum up_delay_method method)
{
	if (method >= UP_DELAY_METHODS || method == delay->method || delay->reason[method][0] == '\0')
		return NULL;
	return delay->reason[method];
}
