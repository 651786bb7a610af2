/* Reading load files on behalf of a user: progress, and what was odd in them. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "load_cli.h"

struct progress {
	struct timespec since;
	bool shown;
};

static double seconds_since(const struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - since->tv_sec) + (double)(now.tv_nsec - since->tv_nsec) / 1e9;
}

static void show_progress(void *ctx, const char *path, uint64_t done_bytes, uint64_t total_bytes)
{
	struct progress *progress = ctx;
	char name[80];

	if (seconds_since(&progress->since) < 1)
		return;
	progress->shown = true;
	up_cli_clean(path, name, sizeof(name));
	if (total_bytes)
		fprintf(stderr, "\r%s: %3.0f %% of %.0f MB\033[K", name, 100 * (double)done_bytes / (double)total_bytes,
			(double)total_bytes / 1e6);
	else
		fprintf(stderr, "\r%s: %.0f MB\033[K", name, (double)done_bytes / 1e6);
}

void up_cli_print_notes(FILE *out, const struct up_load_file *file)
{
	char name[UP_LOAD_PATH_BYTES], text[2 * UP_LOAD_NOTE_BYTES];

	up_cli_clean(file->path, name, sizeof(name));
	for (unsigned i = 0; i < file->n_notes; i++) {
		up_cli_clean(file->note[i].text, text, sizeof(text));
		fprintf(out, "%s:%llu: left out: %s\n", name, (unsigned long long)file->note[i].line, text);
	}
	if (file->skipped_lines > file->n_notes)
		fprintf(out, "%s: %llu more lines were left out\n", name,
			(unsigned long long)(file->skipped_lines - file->n_notes));
}

int up_cli_read_load(struct up_load *load, char **paths, int n, struct up_load_options *options)
{
	struct progress progress = { 0 };
	char error[2 * sizeof(load->error)];
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &progress.since);
	if (isatty(STDERR_FILENO)) {
		options->progress = show_progress;
		/* cppcheck-suppress autoVariables ; taken back below */
		options->progress_ctx = &progress;
	}
	for (int i = 0; r == 0 && i < n; i++) {
		unsigned before = load->n_files;

		r = up_load_read(load, paths[i], options);
		if (progress.shown)
			fprintf(stderr, "\r\033[K");
		if (load->n_files > before)
			up_cli_print_notes(stderr, &load->file[before]);
		if (r == 0 && n > 1)
			r = up_load_file_summary(load, before);
	}
	if (r == 0)
		r = up_load_count(load);
	options->progress = NULL;
	options->progress_ctx = NULL;
	if (r == 0)
		return 0;
	/* It quotes the file's first line, which may be anything. */
	up_cli_clean(load->error[0] ? load->error : "out of memory", error, sizeof(error));
	fprintf(stderr, "useprobe: %s\n", error);
	return r == -ENOENT || r == -ENOTSUP || r == -EISDIR || r == -EACCES ? 2 : 1;
}
