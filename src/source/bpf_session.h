/* What every BPF program of ours shares: why one was refused, in words that say what to do; and its run time. */
#ifndef UP_SOURCE_BPF_SESSION_H
#define UP_SOURCE_BPF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/scan.h"

/* A kernel type or field that a program cannot do without. */
struct up_bpf_need {
	const char *type; /* struct, or a typedef when member is NULL ("btf_trace_sched_switch") */
	const char *member;
	const char *without; /* what to say when it is not there: "kernel without CONFIG_SCHED_INFO" */
};

/* Begins to keep what libbpf says in this thread (it prints nothing of its own from then on), and raises RLIMIT_MEMLOCK where kernels
 * before 5.11 want it; a refusal is no error. */
void up_bpf_listen(void);

/* Writes the reason of a failed open, load or attach: missing capabilities, a kernel without BTF or without one of NEEDS [count], else
 * what libbpf said last. */
void up_bpf_why(int error, const struct up_bpf_need *needs, size_t count, char *ret, size_t size);

/* CPU time of program FD since it was loaded; absent unless kernel.bpf_stats_enabled is on. */
struct up_u64 up_bpf_run_ns(int program_fd);

/* Whether this process has CAPABILITY (CAP_SYS_ADMIN, ...) in effect. */
bool up_bpf_has_capability(unsigned capability);

/* True when our process ids are the kernel's own (initial pid namespace): only then can a program look for one. */
bool up_bpf_pids_are_global(void);

#endif
