/* The log-linear histogram: an octave is a page of 512 counters, taken from the heap when its first sample comes. */
#include <errno.h>
#include <stdlib.h>

#include "useprobe/histogram.h"

enum { SUB_BITS = 9 };
_Static_assert(UP_HIST_SUB == 1 << SUB_BITS, "a page is one octave");

static unsigned page_of(uint64_t value_ns)
{
	return value_ns < UP_HIST_SUB ? 0 : (unsigned)(63 - __builtin_clzll(value_ns)) - SUB_BITS + 1;
}

static unsigned slot_of(uint64_t value_ns, unsigned page)
{
	return page == 0 ? (unsigned)value_ns : (unsigned)(value_ns >> (page - 1)) - UP_HIST_SUB;
}

static uint64_t slot_lo(unsigned page, unsigned slot)
{
	return page == 0 ? slot : (uint64_t)(slot + UP_HIST_SUB) << (page - 1);
}

static uint64_t slot_hi(unsigned page, unsigned slot)
{
	return page == 0 ? slot : slot_lo(page, slot) + (UINT64_C(1) << (page - 1)) - 1;
}

static uint64_t *page_get(struct up_hist *hist, unsigned page)
{
	if (!hist->page[page])
		hist->page[page] = calloc(UP_HIST_SUB, sizeof(uint64_t));
	return hist->page[page];
}

static void widen(struct up_hist *hist, uint64_t min_ns, uint64_t max_ns)
{
	if (hist->n == 0 || min_ns < hist->min_ns)
		hist->min_ns = min_ns;
	if (hist->n == 0 || max_ns > hist->max_ns)
		hist->max_ns = max_ns;
}

void up_hist_done(struct up_hist *hist)
{
	if (!hist)
		return;
	for (unsigned page = 0; page < UP_HIST_PAGES; page++)
		free(hist->page[page]);
	*hist = (struct up_hist){ 0 };
}

int up_hist_add(struct up_hist *hist, uint64_t value_ns, uint64_t count)
{
	unsigned page;
	uint64_t *slots;

	if (value_ns > UP_HIST_MAX_NS)
		return -ERANGE;
	if (count == 0)
		return 0;
	page = page_of(value_ns);
	slots = page_get(hist, page);
	if (!slots)
		return -ENOMEM;
	slots[slot_of(value_ns, page)] += count;
	widen(hist, value_ns, value_ns);
	hist->n += count;
	hist->sum_ns += (unsigned __int128)value_ns * count;
	return 0;
}

int up_hist_merge(struct up_hist *hist, const struct up_hist *from)
{
	if (from->n == 0)
		return 0;
	for (unsigned page = 0; page < UP_HIST_PAGES; page++) {
		uint64_t *slots;

		if (!from->page[page])
			continue;
		slots = page_get(hist, page);
		if (!slots)
			return -ENOMEM;
		for (unsigned slot = 0; slot < UP_HIST_SUB; slot++)
			slots[slot] += from->page[page][slot];
	}
	widen(hist, from->min_ns, from->max_ns);
	hist->n += from->n;
	hist->sum_ns += from->sum_ns;
	return 0;
}

static uint64_t clamp(const struct up_hist *hist, uint64_t value_ns)
{
	if (value_ns < hist->min_ns)
		return hist->min_ns;
	return value_ns > hist->max_ns ? hist->max_ns : value_ns;
}

uint64_t up_hist_at_rank(const struct up_hist *hist, uint64_t rank)
{
	uint64_t seen = 0;

	if (hist->n == 0)
		return 0;
	if (rank >= hist->n)
		return hist->max_ns;
	for (unsigned page = 0; page < UP_HIST_PAGES; page++) {
		for (unsigned slot = 0; hist->page[page] && slot < UP_HIST_SUB; slot++) {
			seen += hist->page[page][slot];
			if (seen >= rank && hist->page[page][slot])
				return clamp(hist, slot_lo(page, slot) + (slot_hi(page, slot) - slot_lo(page, slot)) / 2);
		}
	}
	return hist->max_ns;
}

uint64_t up_hist_count_le(const struct up_hist *hist, uint64_t value_ns)
{
	uint64_t seen = 0;
	unsigned last = page_of(value_ns > UP_HIST_MAX_NS ? UP_HIST_MAX_NS : value_ns);

	if (hist->n == 0 || value_ns >= hist->max_ns)
		return hist->n;
	for (unsigned page = 0; page <= last; page++) {
		for (unsigned slot = 0; hist->page[page] && slot < UP_HIST_SUB; slot++) {
			if (page == last && slot > slot_of(value_ns, page))
				break;
			seen += hist->page[page][slot];
		}
	}
	return seen;
}

void up_hist_each(const struct up_hist *hist, void (*visit)(void *ctx, uint64_t lo_ns, uint64_t hi_ns, uint64_t count), void *ctx)
{
	for (unsigned page = 0; page < UP_HIST_PAGES; page++) {
		for (unsigned slot = 0; hist->page[page] && slot < UP_HIST_SUB; slot++) {
			if (hist->page[page][slot])
				visit(ctx, slot_lo(page, slot), slot_hi(page, slot), hist->page[page][slot]);
		}
	}
}
