/* Private to src/load: histograms of Prometheus scrapes, series by series. */
#ifndef UP_PROMETHEUS_H
#define UP_PROMETHEUS_H

#include "told.h"

enum { UP_PROM_SERIES_MAX = 4000, UP_PROM_CELLS_MAX = 512, UP_PROM_LABELS_MAX = 32 };
#define UP_PROM_INF INT64_MAX

enum up_prom_part { UP_PROM_BUCKET, UP_PROM_SUM, UP_PROM_COUNT };

struct up_prom_label {
	struct up_text name, value; /* value as written, escapes kept */
};

struct up_prom_sample {
	struct up_text name, value, time;
	unsigned n_labels;
	struct up_prom_label label[UP_PROM_LABELS_MAX];
};

/* One sample line; texts are borrowed from it. NULL, or what is wrong with LINE. */
const char *up_prom_sample_parse(struct up_text line, struct up_prom_sample *ret);

/* The bucket "at most le". Counts are cumulative over buckets and, until the process starts anew, over time. */
struct up_prom_cell {
	int64_t le_ns; /* UP_PROM_INF for +Inf */
	uint64_t now, before; /* counter: in this scrape, in the one before */
	uint64_t total; /* what was added over the scrapes */
	bool has_now, has_before;
};

/* One label set of one histogram. */
struct up_prom_series {
	char *name; /* owned; of the metric, without _bucket */
	int ns_scale; /* le and sum times 10^this are ns */
	bool failed, failed_known; /* by its status label */
	struct up_prom_cell *cell; /* owned, [n], ascending after each scrape */
	unsigned n;
	uint64_t line; /* of its last sample */
	int64_t time_us; /* the same; 0 without */
	int64_t sum_now_ns, sum_before_ns;
	double sum_total_ns;
	uint64_t count_now;
	bool has_sum_now, has_sum_before, has_count_now;
	bool sum_missing; /* in some scrape: its mean is not known */
	bool seen; /* in a scrape before */
};

struct up_prom {
	struct up_names keys; /* index of a key = index of its series; key 0 is never used */
	struct up_prom_series *series; /* owned, [n]; [0] is unused */
	unsigned n;
	unsigned scrapes; /* that have ended */
	unsigned resets;
	bool in_scrape; /* a sample was read since the last end of a scrape */
	char typed[128]; /* name of the first "# TYPE": when it comes again, a new scrape begins */
	int64_t scrape_us; /* time at which the scrape was found to begin, 0 without */
};

/* Takes over what the scrape held: increases since the one before, from zero when a counter went backwards. 0 or a fatal error. */
int up_prom_end_scrape(struct up_reader *reader);
/* After the last scrape: chooses the histogram, sums its series and gives the reader's file its figures. 0 or a fatal error. */
int up_prom_sum(struct up_reader *reader);

#endif
