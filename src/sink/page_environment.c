/* What it ran on, and what the probe itself cost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page_parts.h"

static void facts(struct up_doc *doc, const struct up_page *page)
{
	static const char *const marks[] = { [UP_MEASURED] = UP_M, [UP_COMPUTED] = UP_C, [UP_ASSUMED] = UP_A };
	const char *group = NULL;

	for (size_t i = 0; i < page->n_facts; i++) {
		const struct up_page_fact *fact = &page->fact[i];

		if (!group || strcmp(group, fact->group) != 0) {
			char title[640];

			snprintf(title, sizeof(title), "%s%s", up_plain(fact->group).text, marks[fact->mark]);
			if (group)
				up_doc_facts_end(doc);
			up_doc_facts(doc, title);
			group = fact->group;
		}
		up_doc_fact(doc, up_plain(fact->key).text, "%s", up_plain(fact->value).text);
	}
	if (group)
		up_doc_facts_end(doc);
}

/* Means over the whole recording of what is not the target's doing. */
static void background(struct up_doc *doc, const struct up_page *page)
{
	const struct up_recording *r = page->recording;
	struct up_reading reading;

	up_doc_list(doc);
	for (size_t i = 0; i < r->n_tracks; i++) {
		const struct up_track *track = &r->track[i];

		if (track->resource != UP_RES_CPU_OUTSIDE && track->resource != UP_RES_PROBE)
			continue;
		up_track_read(r, track, INT64_MIN, INT64_MAX, &reading);
		if (track->resource == UP_RES_CPU_OUTSIDE)
			up_doc_item(doc, "CPU used outside the targets: %s CPUs" UP_C " on average, at most %s" UP_C ".",
				up_amount(reading.figure[UP_FIG_USED_CPUS]).text,
				up_amount(reading.figure_max[UP_FIG_USED_CPUS]).text);
		else
			up_doc_item(doc,
				"useprobe itself: %s CPUs" UP_M " on average, %s late ticks" UP_M " at most in one interval.",
				up_amount(reading.utilization).text, up_amount(reading.saturation_max).text);
	}
	if (page->shift && page->load) {
		if (page->shift->known && fabs(page->shift->shift_s) < 5e-4)
			up_doc_item(doc,
				"Clocks of load file and samples agree" UP_C
				" within %.2g s: starts and arrivals match best without a shift.",
				page->shift->uncertainty_s);
		else if (page->shift->known)
			up_doc_item(doc,
				"Clocks: the load file's was shifted by %.3f s" UP_C
				" (+-%.3f s) to match the kernel's arrivals.",
				page->shift->shift_s, page->shift->uncertainty_s);
		else
			up_doc_item(doc, "Clocks of load file and samples are taken as equal" UP_A ": %s.",
				up_plain(page->shift->reason).text);
	}
	up_doc_list_end(doc);
}

void up_page_environment(struct up_doc *doc, const struct up_page *page)
{
	up_doc_section(doc, "environment", "3. Environment");
	if (page->n_facts)
		facts(doc, page);
	else
		up_doc_say(
			doc, page->recording
				     ? "The JSON of the run is not beside the samples: host, limits and versions are not known."
				     : "No samples were given: nothing is known about where the service ran.");
	if (page->recording)
		background(doc, page);
	if (page->samples_notes && *page->samples_notes)
		up_doc_note(doc, "While reading the samples: %s", up_plain(page->samples_notes).text);
	up_doc_section_end(doc);
}
