/* Private to src/sink: the parts of the page. */
#ifndef UP_PAGE_PARTS_H
#define UP_PAGE_PARTS_H

#include "doc.h"
#include "figures.h"
#include "svg.h"
#include "useprobe/page.h"

/* Sections, in their order. */
void up_page_summary(struct up_doc *doc, const struct up_page *page);
void up_page_goal(struct up_doc *doc, const struct up_page *page);
void up_page_load(struct up_doc *doc, const struct up_page *page);
void up_page_environment(struct up_doc *doc, const struct up_page *page);
void up_page_result(struct up_doc *doc, const struct up_page *page);
void up_page_bottleneck(struct up_doc *doc, const struct up_page *page);
void up_page_action(struct up_doc *doc, const struct up_page *page);
/* All of the above, and what the marks mean. */
void up_page_sections(struct up_doc *doc, const struct up_page *page);

/* Charts, for HTML only. */
void up_chart_throughput(struct up_buffer *out, const struct up_page *page);
void up_chart_latency(struct up_buffer *out, const struct up_page *page);
void up_chart_loop(struct up_buffer *out, const struct up_page *page);
void up_chart_histogram(struct up_buffer *out, const struct up_page *page);
void up_chart_states(struct up_buffer *out, const struct up_page *page);
/* Everything over one time axis: load, latencies, resources. */
void up_chart_time(struct up_buffer *out, const struct up_page *page);

/* CSS of up_chart_time and up_chart_states. */
extern const char up_page_style_time[];

/* "knee: between 300/s and 400/s" without marks. */
void up_page_knee_words(const struct up_page *page, char *ret, size_t size);
/* Moment as "05:47:12" UTC, or seconds since the beginning of an undated run. */
struct up_amount up_page_clock(int64_t us, bool undated);
bool up_page_has_states(const struct up_page *page);

#endif
