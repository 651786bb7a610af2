/* Load results: files of load generators -> requests, dropped iterations and users, on one time axis.
 *
 * A run is one or more files. Dated files keep their own times (overlapping ones are hosts of one run, disjoint ones follow each other);
 * files without dates are placed one after the other, and `undated` says so. */
#ifndef UP_LOAD_H
#define UP_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/percentile.h"
#include "useprobe/points.h"

enum {
	UP_LOAD_NOTES_MAX = 5, /* bad lines kept with their number and reason */
	UP_LOAD_NOTE_BYTES = 200,
	UP_LOAD_PATH_BYTES = 256, /* longer paths are cut in messages, never when opening */
	UP_LOAD_FILES_MAX = 256,
	UP_LOAD_RECORD_MAX = 4 << 20, /* a longer line costs that line */
	UP_LOAD_SECONDS_MAX = 7 * 86400,
	UP_LATE_US = 10000, /* sent later than this after the intended time: a late send */
};

/* Interned names of requests; more than fit are counted under one last name. */
struct up_names {
	char **name; /* owned, [n] owned strings; name[0] is "" */
	unsigned n, room;
	uint32_t *slot; /* owned, [slots] open hash: index + 1 */
	unsigned slots;
	unsigned last; /* index found last, looked at first */
};
int up_names_init(struct up_names *names);
void up_names_done(struct up_names *names);
/* Index of NAME (N bytes), added when new; the last index when the table is full. Negative: -ENOMEM. */
int up_names_get(struct up_names *names, const char *name, size_t n);

/* One second of the run. starts, ends and in flight are filled by up_load_count. */
struct up_second {
	uint32_t starts, ends, ends_failed;
	uint32_t dropped; /* iterations the generator could not start */
	uint32_t late; /* sends later than UP_LATE_US */
	float users, users_max; /* as the generator reports them; NAN where it does not */
	double late_s; /* sum of the times that requests were sent late */
	double busy_s; /* area of the requests in flight in this second */
	double latency_sum_s; /* of the requests that started in it */
};
struct up_seconds {
	int64_t first_s; /* unix second of at[0] */
	size_t n, room;
	struct up_second *at; /* owned, [n] */
};
/* Cell of the second SECOND_S, added when new. NULL without memory or more than UP_LOAD_SECONDS_MAX from the others. */
struct up_second *up_seconds_get(struct up_seconds *seconds, int64_t second_s);
/* The same, or NULL when there is none; never adds. */
const struct up_second *up_seconds_find(const struct up_seconds *seconds, int64_t second_s);

enum up_load_stamp { UP_STAMP_NONE, UP_STAMP_START, UP_STAMP_END };

/* What is true of every file of a format. */
struct up_load_traits {
	const char *name; /* "k6 CSV" */
	const char *includes; /* what the latency includes and what not, half a sentence */
	const char *missing; /* what the tool leaves out of its file; NULL for nothing */
	enum up_load_stamp stamp;
	bool dated; /* times are unix times */
	bool corrected; /* the tool has already corrected for coordinated omission */
	bool closed; /* the tool knows only closed runs */
	int resolution_us; /* of its times; 0: a microsecond or finer */
	bool failures_missing; /* failed requests have no row at all (or only some have) */
};

/* Figures of a file that holds no requests but the tool's own summary. NAN and failed_known tell what it left out. */
struct up_told {
	bool known, failed_known;
	uint64_t n, failed;
	double mean_ms, sd_ms, min_ms, max_ms, ms[UP_QUANTILES];
	bool bucketed; /* computed here from counts in buckets: each percentile lies in [lo_ms, hi_ms], and ms is a guess within */
	double lo_ms[UP_QUANTILES], hi_ms[UP_QUANTILES]; /* NAN when not bucketed; hi_ms infinite beyond the last bucket */
};
/* The same as a summary: no ranks, nothing that was not told. */
void up_told_summary(const struct up_told *told, struct up_summary *ret_summary);

struct up_load_file {
	char path[UP_LOAD_PATH_BYTES];
	struct up_load_traits traits; /* of the format, with what this file told otherwise */
	uint64_t first_point, n_points;
	uint64_t lines, skipped_lines; /* text formats: lines read; records that cost themselves */
	unsigned n_notes;
	struct {
		uint64_t line;
		char text[UP_LOAD_NOTE_BYTES];
	} note[UP_LOAD_NOTES_MAX];
	char remark[4][UP_LOAD_NOTE_BYTES]; /* what a reader of the figures should know; empty = none */
	bool failed_known; /* the file says which requests failed */
	bool intended; /* has intended starts: latency runs from them */
	bool whole_seconds; /* stamps are whole seconds, read as the middle of theirs */
	bool cut; /* the last line, or the compressed stream, is not whole */
	bool tool_users_known; /* seconds hold users */
	uint64_t transactions_left_out;
	uint64_t dropped; /* dropped iterations in it */
	uint64_t failed_elsewhere; /* failures the file counts but does not tie to requests */
	int64_t first_start_us, first_end_us, last_end_us; /* valid when n_points > 0 */
	int64_t max_late_us;
	uint64_t n_late;
	struct up_told told; /* of a summary-only format */
	struct up_summary summary; /* only with several files; n = 0 else */
};

struct up_load {
	struct up_points points;
	struct up_names names;
	struct up_seconds seconds;
	struct up_load_file *file; /* owned, [n_files] */
	unsigned n_files;
	bool undated; /* no file has dates: times count from the run's beginning */
	bool failed_known;
	bool counted; /* up_load_count was called */
	int64_t first_start_us, first_end_us, last_end_us;
	char error[UP_LOAD_PATH_BYTES + 256]; /* why the last call failed; empty if it did not */
};

struct up_load_options {
	const char *columns; /* "start=ts:ms,latency=2:us,ok=status" for a generic CSV, or NULL */
	const char *format; /* name of a format to take instead of recognising one, or NULL */
	int64_t start_us; /* when a file without dates began, unix time; 0 for not known */
	bool keep_transactions; /* count JMeter's transaction rows instead of leaving them out */
	/* Told now and then how far the reading is; total 0 when unknown. May be NULL. */
	void (*progress)(void *ctx, const char *path, uint64_t done_bytes, uint64_t total_bytes);
	void *progress_ctx;
};

int up_load_init(struct up_load *load);
void up_load_done(struct up_load *load);
/* Reads PATH ("-": standard input; .gz by content) to its end and adds it. 0, or an error with load->error set: -ENOENT and the like from the
 * system, -ENOTSUP unknown content, -EBADMSG not one usable request in it (load->file still holds the notes), -ENOSPC, -ENOMEM. */
int up_load_read(struct up_load *load, const char *path, const struct up_load_options *options);
/* Fills load->file[FILE].summary; to be called before anything sorts the points over all files. 0 or -ENOMEM and the like. */
int up_load_file_summary(struct up_load *load, unsigned file);
/* Fills the seconds' starts, ends and in flight from the points. 0, -ERANGE when the run is longer than UP_LOAD_SECONDS_MAX (error set), -ENOMEM. */
int up_load_count(struct up_load *load);

/* Which requests: start in [from_us, to_us), name index or -1 for all. */
struct up_select {
	int64_t from_us, to_us;
	int name;
};
extern const struct up_select up_select_all;
/* The distribution of the selected requests. Exact while all points are in memory (sorts them in place: by latency for up_select_all,
 * by start for a time range), else a histogram. 0, -ENOMEM or the error of the temporary file. Free with up_dist_done; an exact one borrows
 * from LOAD and dies with the next call that sorts. */
int up_load_dist(struct up_load *load, const struct up_select *select, struct up_dist *ret_dist);
/* Summaries of N disjoint time ranges in ascending order, in few passes whatever their number. */
int up_load_summaries(struct up_load *load, const struct up_select *ranges, size_t n, struct up_summary *ret_summaries);
/* Summaries by name, one for each index of load->names (n = 0: never seen). */
int up_load_summaries_by_name(struct up_load *load, struct up_summary *ret_summaries);

/* Keeps only the requests of SELECT, and the drops and users of its seconds: the warm-up cut. *ret_left_out: how many requests went. 0, -ENOMEM or
 * the error of the temporary file (LOAD is then unchanged). */
int up_load_cut(struct up_load *load, const struct up_select *select, uint64_t *ret_left_out);

/* Follows a file that is being written. */
struct up_load_follow;
enum up_follow_state { UP_FOLLOW_WAITING, UP_FOLLOW_READING, UP_FOLLOW_ROTATED, UP_FOLLOW_GONE };
/* Starts to follow PATH, which need not exist yet. -ENOMEM, or 0. */
int up_load_follow_new(const char *path, const struct up_load_options *options, struct up_load_follow **ret_follow);
void up_load_follow_free(struct up_load_follow *follow);
/* Reads what was appended since the last call, at most some MiB. *ret_load (borrowed until the next call) holds only the new points, drops and
 * users. A file that shrank or was replaced is read from its beginning (state ROTATED once); a deleted one keeps state GONE until it is back.
 * 0, or the error of reading (-ENOTSUP: content not recognised; the next call tries again). */
int up_load_follow_poll(struct up_load_follow *follow, struct up_load **ret_load, enum up_follow_state *ret_state);

#endif
