/* What a uprobe costs here: two functions of our own, one whose first instruction the kernel carries out itself and one that it has to
 * step through, timed with and without a probe. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "queues_internal.h"
#include "useprobe/clock.h"

#define BATCHES 5
#define CALLS_QUICK 1000
#define CALLS_SLOW 200

#if defined(__x86_64__)
/* In a text section of their own, so that the bodies stay as written whatever the compiler does to the rest. */
__asm__(".pushsection .text\n"
	".balign 16\n.globl up_queue_cost_push\n.hidden up_queue_cost_push\n.type up_queue_cost_push, @function\n"
	"up_queue_cost_push: push %rbp\n mov %rsp, %rbp\n pop %rbp\n ret\n"
	".size up_queue_cost_push, . - up_queue_cost_push\n"
	".balign 16\n.globl up_queue_cost_sub\n.hidden up_queue_cost_sub\n.type up_queue_cost_sub, @function\n"
	"up_queue_cost_sub: sub $8, %rsp\n add $8, %rsp\n ret\n"
	".size up_queue_cost_sub, . - up_queue_cost_sub\n"
	".popsection\n");
void up_queue_cost_push(void);
void up_queue_cost_sub(void);
#else
static void up_queue_cost_push(void)
{
}
static void up_queue_cost_sub(void)
{
}
#endif

struct place {
	uintptr_t address;
	size_t offset; /* in the file, 0 = not found */
};

/* The first object is the program itself. */
static int find_place(struct dl_phdr_info *info, size_t size, void *opaque)
{
	struct place *place = opaque;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && place->address >= start && place->address - start < part->p_filesz)
			place->offset = place->address - start + part->p_offset;
	}
	return 1;
}

static double time_calls(void (*function)(void), int calls)
{
	const uint64_t before_ns = up_clock_real.mono_ns(NULL);

	for (int i = 0; i < calls; i++)
		function();
	return (double)(up_clock_real.mono_ns(NULL) - before_ns) / calls;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double time_batches(void (*function)(void), int calls)
{
	double ns[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		ns[i] = time_calls(function, calls);
	qsort(ns, BATCHES, sizeof(ns[0]), compare);
	return ns[BATCHES / 2];
}

/* Median cost of PROGRAM on FUNCTION. 0, or -errno when it cannot be attached. */
static int measure(struct bpf_program *program, void (*function)(void), bool at_return, int calls, double *ret)
{
	struct place place = { .address = (uintptr_t)function };
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return,
		.bpf_cookie = UP_QUEUE_COOKIE(UP_QUEUE_SELF_QUEUE, UP_QUEUE_PUT));
	const double bare_ns = time_batches(function, calls);
	struct bpf_link *link;

	dl_iterate_phdr(find_place, &place);
	if (!place.offset)
		return -ENOENT;
	link = bpf_program__attach_uprobe_opts(program, 0, "/proc/self/exe", place.offset, &options);
	if (!link)
		return -errno;
	*ret = fmax(0, time_batches(function, calls) - bare_ns);
	bpf_link__destroy(link);
	return 0;
}

int queue_measure_costs(struct queues *skeleton, struct queue_costs *ret)
{
	const struct up_queue_process self = { .pid = (uint32_t)getpid(), .queue = UP_QUEUE_SELF_QUEUE };
	const uint32_t slot = UP_QUEUE_SLOT_SELF;
	const int fd = bpf_map__fd(skeleton->maps.processes);
	struct queue_costs costs = { NAN, NAN, NAN };
	int r;

	if (bpf_map_update_elem(fd, &self, &slot, BPF_ANY) < 0)
		return -errno;
	r = measure(skeleton->progs.up_queue_entry, up_queue_cost_push, false, CALLS_QUICK, &costs.emulated);
#if defined(__x86_64__)
	if (r == 0)
		r = measure(skeleton->progs.up_queue_entry, up_queue_cost_sub, false, CALLS_SLOW, &costs.single);
#endif
	if (r == 0)
		r = measure(skeleton->progs.up_queue_return, up_queue_cost_push, true, CALLS_QUICK, &costs.returned);
	bpf_map_delete_elem(fd, &self);
	if (r == 0)
		*ret = costs;
	return r;
}

double queue_point_cost(const struct queue_costs *costs, const struct queue_point *point, enum up_probe_step step)
{
	const double entry_ns = step == UP_STEP_SINGLE ? costs->single : costs->emulated;

	if (step == UP_STEP_UNKNOWN)
		return NAN;
	return point->at_return ? costs->returned + entry_ns - costs->emulated : entry_ns;
}
