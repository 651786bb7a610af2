/* Following a load file while it is written: what was appended since the last look, with rotation and deletion told. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader.h"

enum { STEPS_A_POLL = 64 }; /* pieces of a buffer each: some MiB, so that a tick is never held up by a large file */

struct up_load_follow {
	char *path; /* owned */
	struct up_load_options options; /* its strings are borrowed */
	struct up_load load;
	struct up_reading *reading; /* owned; NULL while there is no file */
	dev_t dev;
	ino_t ino;
	bool seen; /* the file was there once */
};

int up_load_follow_new(const char *path, const struct up_load_options *options, struct up_load_follow **ret_follow)
{
	struct up_load_follow *follow = calloc(1, sizeof(*follow));

	if (!follow)
		return -ENOMEM;
	follow->path = strdup(path);
	if (options)
		follow->options = *options;
	follow->options.progress = NULL;
	if (!follow->path || up_load_init(&follow->load) < 0) {
		free(follow->path);
		free(follow);
		return -ENOMEM;
	}
	*ret_follow = follow;
	return 0;
}

void up_load_follow_free(struct up_load_follow *follow)
{
	if (!follow)
		return;
	up_reading_free(follow->reading);
	up_load_done(&follow->load);
	free(follow->path);
	free(follow);
}

/* Forgets what the last call gave; names and the state of the reader stay. */
static void clear(struct up_load *load)
{
	up_points_done(&load->points);
	load->seconds.n = 0;
	load->counted = false;
	load->error[0] = '\0';
}

/* Begins the file anew. */
static int restart(struct up_load_follow *follow)
{
	struct stat st;
	int r;

	up_reading_free(follow->reading);
	follow->reading = NULL;
	up_load_done(&follow->load);
	r = up_load_init(&follow->load);
	if (r == 0)
		r = up_reading_new(&follow->load, follow->path, &follow->options, &follow->reading);
	if (r < 0)
		return r;
	if (fstat(up_bytes_fd(up_reading_bytes(follow->reading)), &st) == 0) {
		follow->dev = st.st_dev;
		follow->ino = st.st_ino;
	}
	follow->seen = true;
	return 0;
}

static int read_new(struct up_load_follow *follow)
{
	const struct up_load_file *file = up_reading_file(follow->reading);
	uint64_t removed;
	int r = 1;

	for (unsigned i = 0; i < STEPS_A_POLL && r > 0; i++)
		r = up_reading_step(follow->reading);
	if (r < 0)
		return r;
	/* The reader decides about JMeter's transaction rows when the file ends; here it does not end, and rows that repeat others must not count twice. */
	if (!follow->options.keep_transactions)
		up_points_remove(&follow->load.points, 0, UP_POINT_TRANSACTION, false, &removed);
	follow->load.undated = !file->traits.dated;
	follow->load.failed_known = file->failed_known;
	return 0;
}

/* What happened to the file under its name. */
static enum up_follow_state look(const struct up_load_follow *follow)
{
	struct stat st;

	if (stat(follow->path, &st) < 0)
		return follow->seen ? UP_FOLLOW_GONE : UP_FOLLOW_WAITING;
	if (!follow->reading || st.st_dev != follow->dev || st.st_ino != follow->ino ||
		(uint64_t)st.st_size < up_bytes_done(up_reading_bytes(follow->reading)))
		return UP_FOLLOW_ROTATED;
	return UP_FOLLOW_READING;
}

int up_load_follow_poll(struct up_load_follow *follow, struct up_load **ret_load, enum up_follow_state *ret_state)
{
	enum up_follow_state state = look(follow);
	int r = 0;

	clear(&follow->load);
	*ret_load = &follow->load;
	/* The end of a file that was moved away or deleted is read first; the new one waits for the next call. */
	if (follow->reading) {
		r = read_new(follow);
		if (r == 0 && up_points_total(&follow->load.points) > 0 && state == UP_FOLLOW_ROTATED) {
			*ret_state = UP_FOLLOW_READING;
			return 0;
		}
	}
	if (r == 0 && state == UP_FOLLOW_ROTATED) {
		bool first = !follow->seen;

		r = restart(follow);
		if (r == -ENOENT)
			state = follow->seen ? UP_FOLLOW_GONE : UP_FOLLOW_WAITING;
		else if (r == 0 && first)
			state = UP_FOLLOW_READING;
		r = r == -ENOENT ? 0 : r;
		if (r == 0 && follow->reading)
			r = read_new(follow);
	}
	if (r < 0) { /* content that is not known, or a broken file: from its beginning again next time */
		up_reading_free(follow->reading);
		follow->reading = NULL;
	}
	*ret_state = state;
	return r;
}
