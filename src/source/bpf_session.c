#include "bpf_session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PID_NS_INIT_INO 0xEFFFFFFCu /* include/linux/proc_ns.h, PROC_PID_INIT_INO */

/* libbpf's print hook takes no argument of ours: what it said last is kept by thread. */
static _Thread_local char last_words[160];

static int keep_words(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[512];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	/* The verifier's log comes as one long text; its first line is the refusal of the load, kept already. */
	if (strncmp(line, "libbpf: ", 8) == 0 && !strstr(line, "BEGIN PROG LOAD LOG") && !strstr(line, "failed to load object")) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(last_words, sizeof(last_words), "%.*s", (int)sizeof(last_words) - 1, line + 8);
	}
	return 0;
}

void up_bpf_listen(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	last_words[0] = '\0';
	libbpf_set_print(keep_words);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	(void)setrlimit(RLIMIT_MEMLOCK, &all);
}

bool up_bpf_has_capability(unsigned capability)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	return data[capability / 32].effective >> capability % 32 & 1;
}

/* Says which capabilities are missing. true when some are. */
static bool why_capabilities(char *ret, size_t size)
{
	const bool bpf = up_bpf_has_capability(CAP_BPF), perfmon = up_bpf_has_capability(CAP_PERFMON);

	if (up_bpf_has_capability(CAP_SYS_ADMIN) || (bpf && perfmon))
		return false;
	snprintf(ret, size, "%s%s%s missing", bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
		perfmon ? " is"
		: bpf   ? "CAP_PERFMON is"
			: "CAP_PERFMON are");
	return true;
}

static bool need_met(const struct btf *btf, const struct up_bpf_need *need)
{
	const int id = btf__find_by_name_kind(btf, need->type, need->member ? BTF_KIND_STRUCT : BTF_KIND_TYPEDEF);
	const struct btf_type *type;
	const struct btf_member *member;

	if (id < 0 || !need->member)
		return id >= 0;
	type = btf__type_by_id(btf, (unsigned)id);
	member = btf_members(type);
	for (unsigned i = 0; i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf, member[i].name_off), need->member) == 0)
			return true;
	return false;
}

void up_bpf_why(int error, const struct up_bpf_need *needs, size_t count, char *ret, size_t size)
{
	struct btf *btf;

	if ((error == -EPERM || error == -EACCES) && why_capabilities(ret, size))
		return;
	if (error == -EMFILE || error == -ENFILE) {
		snprintf(ret, size, "no file descriptor left (ulimit -n)");
		return;
	}
	btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0 ? btf__load_vmlinux_btf() : NULL;
	if (!btf) {
		snprintf(ret, size, "kernel without BTF (/sys/kernel/btf/vmlinux)");
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (need_met(btf, &needs[i]))
			continue;
		snprintf(ret, size, "%s", needs[i].without);
		btf__free(btf);
		return;
	}
	btf__free(btf);
	snprintf(ret, size, "%s%s%s", strerror(-error), last_words[0] ? ": " : "", last_words);
}

struct up_u64 up_bpf_run_ns(int program_fd)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program_fd, &info, &size) < 0 || info.run_cnt == 0)
		return (struct up_u64){ 0 };
	return (struct up_u64){ info.run_time_ns, true };
}

bool up_bpf_pids_are_global(void)
{
	struct stat stat_buffer;

	return stat("/proc/self/ns/pid", &stat_buffer) == 0 && stat_buffer.st_ino == PID_NS_INIT_INO;
}
