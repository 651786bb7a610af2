/* What a suspected dependency's own tasks wait for: classes of a database's waits (resource sql) divide its time, they never add to it. */
#include <math.h>
#include <string.h>

#include "attribution_internal.h"

/* A class that grew by less than one task in twenty connections explains nothing. */
static const double grew_min = 0.05;

static const struct {
	const char *class, *text;
} advice[] = {
	{ "lock", "find who holds the locks: blocking sessions and the transactions that stay open" },
	{ "workers", "the database has no worker thread left: fewer concurrent queries, or more workers" },
	{ "compile", "queries are compiled one after the other: parameters instead of literals, so that plans are used again" },
	{ "memory-grant", "queries wait for memory: fewer sorts and hashes, better estimates" },
	{ "latch", "many tasks want the same page or structure: spread the inserts" },
	{ "buffer-io", "pages are read from the device: indexes, more memory, a faster device" },
	{ "log-io", "commits wait for the log: fewer and larger transactions, a faster device" },
	{ "other-io", "see the database's device" },
	{ "parallelism", "parallel queries wait for each other" },
	{ "cpu", "its tasks wait for a CPU: make the database a second target (-c)" },
};

/* Is DATABASE what stands behind the dependency TRACK? By its name (--sql NAME=URL), or because there is only one. */
static bool is_behind(
	const struct up_comparison *c, const struct up_track *database, const struct up_suspect *suspect, size_t databases)
{
	const struct up_recording *r = c->recording;

	if (strcmp(database->name, suspect->name) == 0)
		return true;
	for (size_t i = 0; i < r->n_tracks; i++) {
		const struct up_track *track = &r->track[i];

		/* The text of a dependency is its label. */
		if (track->resource == UP_RES_DEPENDENCY && track->n && strcmp(track->name, suspect->name) == 0 &&
			strcmp(r->text[track->at[track->n - 1].text], database->name) == 0)
			return true;
	}
	return databases == 1;
}

static bool is_database(const struct up_track *track)
{
	return track->resource == UP_RES_SQL && !strchr(track->name, '/');
}

static bool is_class_of(const struct up_track *track, const struct up_track *database)
{
	const size_t n = strlen(database->name);

	return track->resource == UP_RES_SQL && strncmp(track->name, database->name, n) == 0 && track->name[n] == '/';
}

/* Mean number of tasks over the good windows; 0 where the class had no row, since a class that never waited has none. */
static double tasks_in_good(const struct up_comparison *c, const struct up_track *track)
{
	double sum = 0;

	for (size_t i = 0; i < c->n_good; i++) {
		struct up_reading reading;

		up_track_read(c->recording, track, c->good[i].from_us, c->good[i].to_us, &reading);
		sum += isnan(reading.saturation) ? 0 : reading.saturation;
	}
	return c->n_good ? sum / (double)c->n_good : NAN;
}

static void look_inside(const struct up_comparison *c, const struct up_track *database, struct up_attribution *a)
{
	const struct up_track *most = NULL;
	double most_bad = 0, most_good = 0;

	for (size_t i = 0; i < c->recording->n_tracks; i++) {
		const struct up_track *track = &c->recording->track[i];
		struct up_reading reading;
		double good;

		if (!is_class_of(track, database))
			continue;
		up_track_read(c->recording, track, c->bad.from_us, c->bad.to_us, &reading);
		good = tasks_in_good(c, track);
		if (reading.samples && reading.saturation - (isnan(good) ? 0 : good) > most_bad - most_good) {
			most = track;
			most_bad = reading.saturation;
			most_good = isnan(good) ? 0 : good;
		}
	}
	if (!most || !(most_bad - most_good > grew_min * fmax(1, a->suspect.servers)))
		return;
	up_add_evidence(a,
		"inside it: %.3g tasks of the database wait for %s (%.3g in the good steps), more than for anything else",
		most_bad, most->name, most_good);
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++)
		if (strcmp(strrchr(most->name, '/') + 1, advice[i].class) == 0)
			up_say(a->next, sizeof(a->next), "%s", advice[i].text);
}

void up_database_evidence(const struct up_comparison *c, struct up_attribution *a)
{
	const struct up_recording *r = c->recording;
	size_t databases = 0;

	if (!a->has_suspect || a->suspect.kind != UP_STATION_DEPENDENCY)
		return;
	for (size_t i = 0; i < r->n_tracks; i++)
		databases += is_database(&r->track[i]);
	for (size_t i = 0; i < r->n_tracks; i++) {
		if (!is_database(&r->track[i]) || !is_behind(c, &r->track[i], &a->suspect, databases))
			continue;
		look_inside(c, &r->track[i], a);
		return;
	}
}
