/* Parts of queues.c and its neighbours. */
#ifndef UP_SOURCE_QUEUES_INTERNAL_H
#define UP_SOURCE_QUEUES_INTERNAL_H

#include <sys/types.h>

#include "bpf_match.h"
#include "elf_functions.h"
#include "queues.h"
#include "queues.skel.h"
#include "useprobe/queues.h"

#define UP_QUEUE_POINTS 8
#define UP_QUEUE_FILES 32
#define UP_QUEUE_REASON 256
#define UP_QUEUE_SEARCH_PIDS 256 /* processes of a target that are looked at in one search */

/* One function to be probed. */
struct queue_point {
	const char *symbol;
	enum up_queue_role role;
	bool at_return, nonnull, optional;
	unsigned argument, offset; /* address of the item: argument 1 or 2, plus offset; 0 = items have no address */
};

/* Points of SPEC, at most UP_QUEUE_POINTS; they borrow from it. */
size_t queue_points(const struct up_queue_spec *spec, struct queue_point *ret);

/* A file found for SPEC in a process, open for reading. 0 with *ret_fd (the caller closes it), or -errno. */
int queue_open_file(const struct up_source *source, const struct up_queue_spec *spec, pid_t pid, int *ret_fd);
/* Offsets of POINTS [count] in FD. 0; -errno with a sentence in MESSAGE. */
int queue_find_points(int fd, const struct up_queue_spec *spec, const struct queue_point *points, size_t count,
	struct up_elf_function *ret, char *message, size_t size);

/* What a probe costs on this machine, in ns; NAN = not measured. */
struct queue_costs {
	double emulated, single, returned;
};
/* Measures it by calling functions of our own. 0, or -errno when no probe can be attached. */
int queue_measure_costs(struct queues *skeleton, struct queue_costs *ret);
double queue_point_cost(const struct queue_costs *costs, const struct queue_point *point, enum up_probe_step step);

/* A file with its probes. */
struct queue_file {
	dev_t device;
	ino_t inode;
	size_t spec;
	struct bpf_link *links[UP_QUEUE_POINTS]; /* owned */
	double put_cost_ns, take_cost_ns;
	const char *slow; /* borrowed from the spec */
};

/* Attaches the points of SPEC (number INDEX) to FD. 0 with FILE; -errno with a sentence in MESSAGE. */
int queue_attach(struct queues *skeleton, const struct up_queue_spec *spec, size_t index, int fd, const struct queue_costs *costs,
	struct queue_file *ret, char *message, size_t size);
void queue_detach(struct queue_file *file);

/* What is known about one slot between ticks. */
struct queue_zero {
	enum up_queue_zero kind;
	int64_t base;
	bool waits; /* DEQUEUE was seen to wait inside */
};
/* Learns from a consistent reading; PROBED_NS is when the last probe of this queue was attached. */
void queue_zero_learn(
	struct queue_zero *zero, const struct up_queue_slot *slot, const struct up_queue_spec *spec, uint64_t probed_ns);

/* What user space knows about a slot. */
struct queue_known {
	uint32_t pid; /* 0 = nobody has it */
	uint64_t start_ticks; /* of /proc/PID/stat: tells a reused pid */
	char comm[UP_COMM_MAX];
	bool retired; /* its process is gone; freed at the next reading */
	struct queue_zero zero;
};

struct up_queues {
	const struct up_source *source; /* borrowed */
	struct queues *skeleton;
	struct up_queue_spec specs[UP_QUEUE_SPECS_MAX];
	size_t spec_count;
	struct queue_costs costs;
	struct queue_file files[UP_QUEUE_FILES];
	size_t file_count;
	uint64_t probed_ns[UP_QUEUE_SPECS_MAX]; /* when the last file of the spec was attached */
	char reasons[UP_QUEUE_SPECS_MAX][UP_QUEUE_REASON]; /* why a spec has no file, of the last search */
	int errors[UP_QUEUE_SPECS_MAX];
	struct queue_known known[UP_QUEUE_SLOTS];
	struct up_match match;
	uint64_t searched_ns;
	uint64_t signature; /* of the targets the programs know */
};

/* Tells the programs the targets when they changed, and looks for files of processes that are new. */
void queue_keep_up(struct up_queues *queues, const struct up_targets *targets, struct up_arena *arena);

#endif
