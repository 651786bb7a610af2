/* Page: the report that people attach, as HTML in one file or as Markdown. Order: goal, load, environment, result, bottleneck, action.
 *
 * Pure: everything comes from the struct, nothing is read and no rate is computed here. Every text may hold foreign bytes; it is escaped
 * on its way out. */
#ifndef UP_PAGE_H
#define UP_PAGE_H

#include "useprobe/attribution.h"
#include "useprobe/buffer.h"
#include "useprobe/ceilings.h"
#include "useprobe/heat.h"
#include "useprobe/knee.h"
#include "useprobe/shift.h"
#include "useprobe/slo.h"
#include "useprobe/use_table.h"

enum up_page_mark { UP_MEASURED, UP_COMPUTED, UP_ASSUMED };

/* One thing about the environment. */
struct up_page_fact {
	const char *group; /* "host", "run", "target api", "notes" */
	const char *key, *value;
	enum up_page_mark mark; /* assumed: somebody said so */
};

/* Everything is borrowed. */
struct up_page {
	const char *version; /* of useprobe */
	/* Load; NULL and 0 without a load file. */
	const struct up_load *load;
	const struct up_curve *curve;
	const struct up_knee *knee;
	const struct up_heat *heat;
	const struct up_summary *overall; /* all requests of the run */
	bool offered_stated; /* --offered: the rates were not counted */
	uint64_t requested; /* stated to have been sent; 0 */
	/* Goal. */
	const char *slo_text; /* as typed; NULL */
	const struct up_slo *slo;
	const int *slo_met; /* [curve->n] 1, 0, -1 not to be told */
	int slo_good; /* highest step that meets it with all below; -1 */
	double peak_per_s; /* NAN */
	/* Checks. */
	unsigned n_settled, n_little_ok;
	double little_worst_ratio;
	/* Samples; NULL without. */
	const struct up_recording *recording;
	const char *samples_name, *samples_notes, *target;
	const struct up_states *states; /* [curve->n] */
	const struct up_attribution *attribution;
	const struct up_ceiling *ceiling;
	size_t n_ceilings;
	const struct up_shift *shift;
	const struct up_use_row *use;
	size_t n_use, n_use_without;
	struct up_use_window use_then, use_now;
	const char *use_then_name, *use_now_name; /* "300/s" */
	/* Environment. */
	const struct up_page_fact *fact;
	size_t n_facts;
};

/* Adds the whole page to OUT. 0 or -ENOMEM. */
int up_page_html(const struct up_page *page, struct up_buffer *out);
int up_page_markdown(const struct up_page *page, struct up_buffer *out);

/* "300/s", or "24 users" in a closed run. */
struct up_page_level {
	char text[40];
};
struct up_page_level up_page_level(const struct up_curve *curve, int step);

#endif
