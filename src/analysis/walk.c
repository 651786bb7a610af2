/* The walk: from the requests inwards, always into the station whose residence per request grew most, until one is full and held no
 * longer than before, or nothing measured lies inside. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribution_internal.h"

/* A hold time must grow by this before the station counts as held longer: below it the snapshots' own error hides the difference. */
static const double held_longer_min = 1.1;
static const double nearly_full = 0.75; /* connections in use from which a lock may be the wait for one of them */

/* One thread that accepts and reads leaves requests unread behind the accept queue. */
static const double reads_too_ratio = 0.1;

struct level {
	enum up_station_kind kind;
	double growth_ms; /* to be explained */
	const char *name; /* of the station stood in, for the sentence */
};

struct choice {
	struct up_station station; /* with the queues in front added */
	struct up_suspect suspect;
	bool found;
};

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

/* Pool that the queues in front belong to: the one that serves the requests, or a loop that is full now and was not before. */
static const struct up_station *front_pool(const struct up_comparison *c)
{
	const struct up_states *bad = &c->bad;
	const struct up_station *best = NULL;

	if (bad->owner != SIZE_MAX && bad->at[bad->owner].utilization >= c->rules->full_min)
		return &bad->at[bad->owner];
	for (size_t i = 0; i < bad->n_stations; i++) {
		const struct up_station *station = &bad->at[i];

		if (station->kind != UP_STATION_WORKERS || !(station->utilization >= c->rules->full_min))
			continue;
		/* Full all the time: a spinning decoy, not what the requests wait for. */
		if (or_zero(up_suspect_of(c, station, 0).utilization_good) >= c->rules->full_min)
			continue;
		if (!best || station->utilization > best->utilization)
			best = station;
	}
	return best;
}

static bool is_owner(const struct up_comparison *c, const struct up_station *station)
{
	return c->bad.owner != SIZE_MAX && station == &c->bad.at[c->bad.owner];
}

/* Waiting of kind KIND in STATES, all rows of it. */
static double queue_of(const struct up_states *states, enum up_station_kind kind)
{
	double sum = 0;

	for (size_t i = 0; i < states->n_stations; i++)
		if (states->at[i].kind == kind)
			sum += or_zero(states->at[i].waiting);
	return sum;
}

static double front_ms(const struct up_states *states, bool accept)
{
	const double n = queue_of(states, UP_STATION_UNREAD) + (accept ? queue_of(states, UP_STATION_ACCEPT) : 0);

	return states->x_per_s > 0 ? 1e3 * n / states->x_per_s : NAN;
}

static double front_with_accept_ms(const struct up_states *states)
{
	return front_ms(states, true);
}

static double front_unread_ms(const struct up_states *states)
{
	return front_ms(states, false);
}

/* Does the accept queue wait for the POOL? Not for a thread that only accepts: what that one lets through is read at once. */
static bool accepts(const struct up_comparison *c, const struct up_station *pool)
{
	if (!is_owner(c, pool))
		return false;
	return pool->servers >= 2 ||
	       queue_of(&c->bad, UP_STATION_UNREAD) >= reads_too_ratio * queue_of(&c->bad, UP_STATION_ACCEPT);
}

/* The queues in front of a pool wait for it: they are part of its residence. Those not yet accepted only where its threads accept. */
static void add_front(const struct up_comparison *c, const struct level *level, struct choice *choice)
{
	const bool accept = accepts(c, front_pool(c));
	double (*const of)(const struct up_states *) = accept ? front_with_accept_ms : front_unread_ms;
	struct up_suspect *s = &choice->suspect;

	choice->station.waiting = or_zero(choice->station.waiting) + queue_of(&c->bad, UP_STATION_UNREAD) +
				  (accept ? queue_of(&c->bad, UP_STATION_ACCEPT) : 0);
	s->waiting = choice->station.waiting;
	s->residence_bad_ms += of(&c->bad);
	s->residence_good_ms = or_zero(s->residence_good_ms) + or_zero(up_good_states_median(c, of));
	s->growth_ms = s->residence_bad_ms - s->residence_good_ms;
	s->share = level->growth_ms > 0 ? s->growth_ms / level->growth_ms : NAN;
}

static bool is_candidate(const struct up_comparison *c, const struct level *level, const struct up_station *station,
	const struct up_station *front)
{
	if (!up_station_inside(level->kind, station->kind))
		return false;
	if (!front || level->kind != UP_STATION_REQUESTS)
		return true;
	/* These queues have been added to the pool they wait for. */
	if (station->kind == UP_STATION_UNREAD)
		return false;
	return station->kind != UP_STATION_ACCEPT || !accepts(c, front);
}

/* The two stations of the level whose residence grew most. */
static void rank(const struct up_comparison *c, const struct level *level, struct choice *first, struct choice *second)
{
	const struct up_station *front = front_pool(c);

	*first = *second = (struct choice){ 0 };
	for (size_t i = 0; i < c->bad.n_stations; i++) {
		const struct up_station *station = &c->bad.at[i];
		struct choice choice = { .station = *station, .found = true };

		if (!is_candidate(c, level, station, front))
			continue;
		choice.suspect = up_suspect_of(c, station, level->growth_ms);
		if (station == front && level->kind == UP_STATION_REQUESTS)
			add_front(c, level, &choice);
		if (isnan(choice.suspect.growth_ms) || choice.suspect.growth_ms <= 0)
			continue;
		if (!first->found || choice.suspect.growth_ms > first->suspect.growth_ms) {
			*second = *first;
			*first = choice;
		} else if (!second->found || choice.suspect.growth_ms > second->suspect.growth_ms) {
			*second = choice;
		}
	}
}

static bool is_limit(const struct up_rules *rules, const struct choice *choice)
{
	const struct up_suspect *s = &choice->suspect;

	return s->utilization >= rules->full_min && s->hold_bad_ms <= rules->hold_max * s->hold_good_ms;
}

/* Rate at which it would be full: the utilization law with the hold time of the good steps. */
static double ceiling_per_s(const struct up_suspect *s)
{
	return s->hold_good_ms > 0 ? 1e3 * s->servers / s->hold_good_ms : NAN;
}

/* Near its knee a pool of few threads is held longer by less than hold_max, though it only waits for what is full inside it. Then both look like
 * the limit; the one that would be full first is. */
static bool tighter_inside(const struct up_comparison *c, const struct choice *outer, struct choice *ret)
{
	const double longer_ms = outer->suspect.hold_bad_ms - outer->suspect.hold_good_ms;
	double lowest = ceiling_per_s(&outer->suspect);
	bool found = false;

	for (size_t i = 0; i < c->bad.n_stations; i++) {
		struct choice inner = { .station = c->bad.at[i], .found = true };

		if (!up_station_inside(outer->suspect.kind, inner.station.kind))
			continue;
		inner.suspect = up_suspect_of(c, &c->bad.at[i], longer_ms);
		if (!is_limit(c->rules, &inner) || !(inner.suspect.waiting > or_zero(inner.suspect.waiting_good)) ||
			!(ceiling_per_s(&inner.suspect) < lowest))
			continue;
		lowest = ceiling_per_s(&inner.suspect);
		*ret = inner;
		found = true;
	}
	return found;
}

/* A station that is full and held no longer than before completes all it can: by the utilization law nothing beside it can be the limit. A lock
 * then only hides it, since who holds the lock waits there. */
static bool full_beside(const struct up_comparison *c, const struct level *level, struct choice *ret)
{
	for (size_t i = 0; i < c->bad.n_stations; i++) {
		struct choice beside = { .station = c->bad.at[i], .found = true };

		if (!up_station_inside(level->kind, beside.station.kind) || beside.station.kind == UP_STATION_WORKERS)
			continue;
		beside.suspect = up_suspect_of(c, &c->bad.at[i], level->growth_ms);
		if (!is_limit(c->rules, &beside) || !(beside.suspect.waiting > or_zero(beside.suspect.waiting_good)))
			continue;
		*ret = beside;
		return true;
	}
	return false;
}

static bool has_inside(enum up_station_kind kind)
{
	for (unsigned inner = 0; inner < UP_STATION_KINDS; inner++)
		if (up_station_inside(kind, (enum up_station_kind)inner))
			return true;
	return false;
}

/* The runner-up does not count when it holds the winner and is itself held longer: then it is one of its symptoms. */
static bool is_symptom_of(const struct choice *second, const struct choice *first)
{
	return up_station_inside(second->suspect.kind, first->suspect.kind) &&
	       (isnan(second->suspect.hold_good_ms) ||
		       second->suspect.hold_bad_ms > held_longer_min * second->suspect.hold_good_ms);
}

static void set_unknown(struct up_attribution *a, enum up_bottleneck_verdict verdict)
{
	a->verdict = verdict;
	a->reason[0] = '\0';
}

/* Nothing inside explains enough of the level's growth. */
static void nothing_explains(const struct level *level, const struct choice *best, struct up_attribution *a)
{
	set_unknown(a, level->kind == UP_STATION_REQUESTS ? UP_BOTTLENECK_OUTSIDE : UP_BOTTLENECK_UNKNOWN);
	up_say(a->reason, sizeof(a->reason), "%s grew by %.4g ms a request and nothing measured inside explains 30 %% of it",
		level->name, level->growth_ms);
	if (!best->found)
		return;
	up_say(a->reason, sizeof(a->reason), "; most is %s %s with %.0f %%", best->suspect.resource, best->suspect.name,
		100 * best->suspect.share);
	a->has_runner_up = true;
	a->runner_up = best->suspect;
}

/* The lock's holder waits for a CPU when on average a task more than before does: then the lock is held for so long because of that, or not. */
static bool doubt_lock_by_cpu(const struct up_comparison *c, struct up_attribution *a)
{
	for (size_t i = 0; i < c->bad.n_stations; i++) {
		const struct up_station *cpu = &c->bad.at[i];
		struct up_suspect rival;

		if (cpu->kind != UP_STATION_CPU)
			continue;
		rival = up_suspect_of(c, cpu, 0);
		if (!(rival.waiting >= 1 + or_zero(rival.waiting_good)))
			continue;
		a->has_runner_up = true;
		a->runner_up = rival;
		set_unknown(a, UP_BOTTLENECK_UNKNOWN);
		up_say(a->reason, sizeof(a->reason),
			"%.3g threads sleep on a futex (lock) while %.3g tasks wait for a CPU (cpu %s, %.3g before): the lock may be held for long only because its holder gets no CPU",
			a->suspect.waiting, rival.waiting, rival.name, or_zero(rival.waiting_good));
		return true;
	}
	return false;
}

/* Threads that wait for a connection sleep like those that wait for a lock: with connections nearly all in use the two cannot be told apart. */
static bool doubt_lock(const struct up_comparison *c, struct up_attribution *a)
{
	const struct up_station *rival = NULL;

	for (size_t i = 0; i < c->bad.n_stations; i++)
		if (c->bad.at[i].kind == UP_STATION_CONNECTIONS && c->bad.at[i].utilization >= nearly_full)
			rival = &c->bad.at[i];
	if (!rival)
		return doubt_lock_by_cpu(c, a);
	a->has_runner_up = true;
	a->runner_up = up_suspect_of(c, rival, 0);
	set_unknown(a, UP_BOTTLENECK_UNKNOWN);
	up_say(a->reason, sizeof(a->reason),
		"%.3g threads sleep on a futex: a lock, or the wait for one of the connections to %s, which are %.0f %% in use",
		a->suspect.waiting, a->runner_up.name, 100 * a->runner_up.utilization);
	return true;
}

static void decide(
	const struct up_comparison *c, const struct choice *first, const struct choice *second, struct up_attribution *a)
{
	a->verdict = UP_BOTTLENECK_RESOURCE;
	a->has_suspect = true;
	a->suspect = first->suspect;
	if (a->suspect.kind == UP_STATION_UNREAD) {
		set_unknown(a, UP_BOTTLENECK_UNKNOWN);
		up_say(a->reason, sizeof(a->reason),
			"requests wait unread in the socket (%.3g of them) and no thread that should read them was seen full",
			a->suspect.waiting);
	} else if (a->suspect.kind == UP_STATION_CPU) {
		up_walk_name_cpu(c, &first->station, &a->suspect, a->reason, sizeof(a->reason));
		if (!a->suspect.resource[0]) {
			a->verdict = UP_BOTTLENECK_UNKNOWN;
			a->has_suspect = false;
		}
	} else {
		up_walk_give_reason(&first->suspect, a->reason, sizeof(a->reason));
	}
	if (a->suspect.kind == UP_STATION_LOCK && doubt_lock(c, a))
		return;
	if (second->found) {
		a->has_runner_up = true;
		a->runner_up = second->suspect;
	}
	if (a->verdict != UP_BOTTLENECK_RESOURCE || !second->found || is_symptom_of(second, first) ||
		first->suspect.growth_ms >= c->rules->clear_min * second->suspect.growth_ms)
		return;
	set_unknown(a, UP_BOTTLENECK_UNKNOWN);
	up_say(a->reason, sizeof(a->reason),
		"two stations explain the growth about equally: %s %s (+%.4g ms) and %s %s (+%.4g ms)", a->suspect.resource,
		a->suspect.name, first->suspect.growth_ms, second->suspect.resource, second->suspect.name,
		second->suspect.growth_ms);
}

/* Steps into FIRST, which only inherits. false: it neither is full nor held longer, so the walk ends without a name. */
static bool step_into(const struct up_rules *rules, const struct choice *first, struct level *level, struct up_attribution *a)
{
	const struct up_suspect *s = &first->suspect;
	const double longer_ms = s->hold_bad_ms - s->hold_good_ms;

	if (rules->follow_hold && s->hold_bad_ms <= held_longer_min * s->hold_good_ms) {
		set_unknown(a, UP_BOTTLENECK_UNKNOWN);
		a->has_suspect = true;
		a->suspect = *s;
		up_say(a->reason, sizeof(a->reason),
			"%s %s grew most (+%.4g ms), but it is neither full (utilization %.2f) nor held longer than before",
			s->resource, s->name, s->growth_ms, s->utilization);
		return false;
	}
	up_walk_note_symptom(a, s);
	*level = (struct level){
		.kind = s->kind, .growth_ms = isnan(longer_ms) ? s->growth_ms : longer_ms, .name = a->walk[a->n_walk - 1].name
	};
	return true;
}

void up_walk(const struct up_comparison *c, struct up_attribution *a)
{
	struct level level = { .kind = UP_STATION_REQUESTS,
		.growth_ms = c->bad.residence_ms - up_good_states_median(c, up_states_residence_ms),
		.name = "the time in the target" };
	struct choice first, second, inner, nobody = { 0 };

	if (!(level.growth_ms > 0)) {
		set_unknown(a, UP_BOTTLENECK_UNKNOWN);
		up_say(a->reason, sizeof(a->reason), "requests stayed no longer in the target than in the good steps");
		return;
	}
	while (a->n_walk < UP_WALK_MAX) {
		rank(c, &level, &first, &second);
		if (!first.found || first.suspect.growth_ms < c->rules->explains_min * level.growth_ms) {
			nothing_explains(&level, &first, a);
			return;
		}
		first.suspect.limit = is_limit(c->rules, &first);
		a->walk[a->n_walk++] = first.suspect;
		if (c->rules->follow_hold && a->n_walk < UP_WALK_MAX &&
			((first.suspect.limit && tighter_inside(c, &first, &inner)) ||
				(first.suspect.kind == UP_STATION_LOCK && full_beside(c, &level, &inner)))) {
			up_walk_note_symptom(a, &first.suspect);
			inner.suspect.limit = true;
			a->walk[a->n_walk++] = inner.suspect;
			decide(c, &inner, &nobody, a);
			return;
		}
		if ((first.suspect.limit && c->rules->follow_hold) || !has_inside(first.suspect.kind)) {
			decide(c, &first, &second, a);
			return;
		}
		if (!step_into(c->rules, &first, &level, a))
			return;
	}
}
