/* The words around a verdict: who is acquitted and why, what would prove it wrong, what to do next. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribution_internal.h"

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

static bool is_same(const struct up_suspect *a, const struct up_suspect *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

/* Resources that people suspect first are acquitted by name, with the figures that do it. */
static void acquit(const struct up_comparison *c, struct up_attribution *a)
{
	for (size_t i = 0; i < c->bad.n_stations; i++) {
		const struct up_station *station = &c->bad.at[i];
		const struct up_suspect s = up_suspect_of(c, station, a->residence_bad_ms - a->residence_good_ms);
		bool walked = false;

		for (size_t k = 0; k < a->n_walk; k++)
			walked = walked || is_same(&a->walk[k], &s);
		if (walked)
			continue;
		if (station->kind == UP_STATION_CPU && !isnan(station->utilization))
			up_add_evidence(a,
				"cpu acquitted: %.3g of %.3g CPUs used (%.0f %%), %.3g tasks throttled and %.3g waiting for a CPU: %+.3g ms a request of %+.4g",
				or_zero(station->busy), station->servers, 100 * station->utilization, or_zero(station->throttled),
				or_zero(station->contended), s.growth_ms, a->residence_bad_ms - a->residence_good_ms);
		else if (station->kind == UP_STATION_WORKERS && station->utilization >= 0.9 && s.utilization_good >= 0.9)
			up_add_evidence(a, "thread-pool %s acquitted: %.0f %% busy, and %.0f %% in the good steps too", s.name,
				100 * s.utilization, 100 * s.utilization_good);
	}
}

static void state_line(const struct up_comparison *c, struct up_attribution *a)
{
	char line[UP_LINE_BYTES] = "";

	for (unsigned i = 0; i < UP_REQUEST_STATES; i++) {
		/* What is left of the sums of floats is no request. */
		const double n = c->bad.state[i] < 1e-6 * c->bad.n ? 0 : c->bad.state[i];

		if (n >= 0.02 * c->bad.n || i == UP_IN_UNEXPLAINED)
			up_say(line, sizeof(line), "%s%s %.3g", line[0] ? ", " : "",
				up_request_state_name((enum up_request_state)i), n);
	}
	up_add_evidence(a, "of %.4g requests inside: %s%s", c->bad.n, line,
		c->bad.settled ? "" : " (unsettled: arrivals and departures differ)");
	/* While it was frozen all requests are: nothing of the threads' states is left to be scaled. */
	if (c->bad.thread_scale < 1 && c->bad.frozen_share < 0.5)
		up_add_evidence(a, "states of threads scaled by %.2f: more threads were active than requests were inside",
			c->bad.thread_scale);
}

static void falsify(const struct up_attribution *a, char *text, size_t size)
{
	const struct up_suspect *s = &a->suspect;

	if (strcmp(s->resource, "run-queue") == 0)
		up_say(text, size,
			"if the target's own limit were the cause, it would use all of its CPUs; it has %.0f %% of them",
			100 * s->utilization);
	else if (s->kind == UP_STATION_CPU)
		up_say(text, size,
			"if something else were the limit, the CPU would not be full; it is %.0f %% in use at %.3g ms of CPU a request (%.3g before)",
			100 * s->utilization, s->hold_bad_ms, s->hold_good_ms);
	else if (s->kind == UP_STATION_WORKERS || s->kind == UP_STATION_CONNECTIONS)
		up_say(text, size,
			"if it only waited for something behind it, it would be held longer than %.3g ms; it is held %.3g ms",
			s->hold_good_ms, s->hold_bad_ms);
	else if (s->kind == UP_STATION_DEPENDENCY && a->n_walk > 1)
		up_say(text, size, "if %s %s were the limit, it would still be held for %.3g ms; it is held for %.3g ms",
			a->walk[a->n_walk - 2].resource, a->walk[a->n_walk - 2].name, a->walk[a->n_walk - 2].hold_good_ms,
			a->walk[a->n_walk - 2].hold_bad_ms);
	else if (s->kind == UP_STATION_LOCK)
		up_say(text, size,
			"if it were not a lock, %.3g threads would not sleep on it while CPUs and connections are free",
			s->waiting);
	else
		up_say(text, size, "if something else were the limit, %s would not have grown from %.3g to %.3g ms a request",
			s->resource, or_zero(s->residence_good_ms), s->residence_bad_ms);
}

static void advise(const struct up_attribution *a, char *text, size_t size)
{
	static const struct {
		const char *resource, *text;
	} advice[] = {
		{ "cpu", "raise the quota, or profile what costs the CPU time of a request" },
		{ "run-queue", "give the target CPUs of its own, or move the competitor" },
		{ "thread-pool",
			"more threads help as long as nothing behind them fills: see the ceilings; or shorten what they hold a request for" },
		{ "connection-pool",
			"a larger pool helps if the dependency can take it: see the ceilings; or fewer and shorter queries" },
		{ "dependency", "look inside it: make it a second target (-c), or --sql for a database's wait classes" },
		{ "lock", "find the lock: stacks of the waiting threads (perf, gdb, the runtime's own dump)" },
		{ "listen", "accept faster: one thread accepts, and it is late" },
		{ "descriptors", "raise the limit (ulimit -n, LimitNOFILE), or find the leak" },
		{ "tasks", "raise pids.max" },
		{ "memory", "raise the limit or find what grows: reclaim takes the time" },
		{ "disk", "fewer syncs (group commit), or a faster device" },
		{ "network", "see drops and queue of the interface; a shaper or a slow link stands between" },
	};

	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (strcmp(advice[i].resource, a->suspect.resource) == 0)
			up_say(text, size, "%s", advice[i].text);
}

void up_explain(const struct up_comparison *c, struct up_attribution *a)
{
	switch (a->verdict) {
	case UP_BOTTLENECK_GENERATOR:
		up_say(a->falsifier, sizeof(a->falsifier),
			"if the target were the limit, its requests in flight and response times would have grown with the load");
		up_say(a->next, sizeof(a->next),
			"give the generator more virtual users or CPUs, or a second host, and repeat: this run says nothing about the target's limit");
		return;
	case UP_BOTTLENECK_FROZEN:
		up_say(a->falsifier, sizeof(a->falsifier), "if it had only been slow, its threads would have run in that time");
		up_say(a->next, sizeof(a->next),
			"find who stopped it (docker pause, freezer, SIGSTOP, a debugger); read percentiles corrected for coordinated omission");
		break;
	case UP_BOTTLENECK_OUTSIDE:
		up_say(a->falsifier, sizeof(a->falsifier),
			"a row that grew with the requests: see which collectors are denied (useprobe doctor)");
		up_say(a->next, sizeof(a->next),
			"run with more rights or name the queue (--queue, --conn-max), and repeat");
		break;
	case UP_BOTTLENECK_RESOURCE:
		falsify(a, a->falsifier, sizeof(a->falsifier));
		advise(a, a->next, sizeof(a->next));
		break;
	default:
		up_say(a->next, sizeof(a->next),
			"repeat with longer steps and more rights; useprobe doctor tells what is not measured");
		break;
	}
	if (!c || !c->bad.known || c->n_good == 0)
		return;
	state_line(c, a);
	acquit(c, a);
}
