/* Private to src/cli: the report as a page, and the samples as other CSVs. */
#ifndef UP_REPORT_PAGE_H
#define UP_REPORT_PAGE_H

#include "report_options.h"
#include "useprobe/buffer.h"
#include "useprobe/page.h"

/* Adds the page that ARGS asks for to RET. Counts the requests of REPORT once more, which sorts them. 0, or -errno. */
int up_report_page(struct up_report *report, const struct up_report_args *args, struct up_buffer *ret);
/* Adds the CSV of --wide or --long to RET. 0 or -errno. */
int up_report_rows_csv(const struct up_report *report, const struct up_report_args *args, struct up_buffer *ret);

/* What the JSON beside SAMPLES says about the environment. */
struct up_report_facts {
	struct up_page_fact *fact; /* owned, as are the strings */
	size_t n, room;
};
/* Reads it; a missing file is no error and gives none, a broken one is told in one fact. 0 or -ENOMEM. */
int up_report_facts_read(const char *samples, struct up_report_facts *ret);
void up_report_facts_done(struct up_report_facts *facts);

#endif
