/* Where a run leaves what it saw: the CSV, the live view or the table, and the answer at the end. */
#include "run_output.h"

#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run_live.h"
#include "useprobe/cli.h"
#include "useprobe/export.h"
#include "useprobe/sidecar.h"

/* "useprobe-api-20261130T195000Z.csv"; characters that a shell or a file system would mind become '_'. */
static void default_csv_path(struct run *run)
{
	const char *name = run->targets.count ? run->targets.items[0].name : "host";
	char safe[64], stamp[UP_TIME_TEXT], compact[20];
	size_t n = 0, k = 0;

	while (*name == '/')
		name++;
	for (; *name && n + 1 < sizeof(safe); name++) {
		const char c = *name;
		const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._-", c);

		safe[n++] = plain ? c : '_';
	}
	safe[n] = '\0';
	up_time_format(run->clock.wall_ns(run->clock.self), stamp);
	for (const char *p = stamp; *p && *p != '.'; p++)
		if (*p != '-' && *p != ':')
			compact[k++] = *p;
	compact[k] = '\0';
	snprintf(run->csv_path, sizeof(run->csv_path), "useprobe-%s-%sZ.csv", *safe ? safe : "root", compact);
}

int run_open_csv(struct run *run)
{
	const struct run_options *o = &run->options;
	char sidecar[UP_PATH_MAX];
	struct up_csv *csv;
	int r;

	if (o->no_csv)
		return 0;
	if (o->csv)
		snprintf(run->csv_path, sizeof(run->csv_path), "%s", o->csv);
	else
		default_csv_path(run);
	/* Told before the CSV is made: a refused run leaves no file behind. */
	if (!o->force && up_sidecar_path(run->csv_path, sidecar, sizeof(sidecar)) == 0 && access(sidecar, F_OK) == 0) {
		fprintf(stderr,
			"useprobe: %s, the environment beside the CSV, exists; choose another -o FILE, or --force to overwrite it\n",
			sidecar);
		return -EEXIST;
	}
	r = up_csv_open(run->csv_path, o->force, &csv);
	if (r == -EEXIST)
		fprintf(stderr, "useprobe: %s exists; choose another -o FILE, or --force to overwrite it\n", run->csv_path);
	else if (r < 0)
		fprintf(stderr, "useprobe: %s: %s; choose another place with -o FILE, or --no-csv\n", run->csv_path,
			strerror(-r));
	if (r < 0)
		return r;
	return up_probe_add_sink(
		run->probe, (struct up_sink){ .name = run->csv_path, .self = csv, .tick = up_csv_tick, .close = up_csv_close });
}

int run_open_export(struct run *run)
{
	const struct up_http_guard *guard = &run->options.export_guard;
	struct up_export *export;
	char error[256];
	uint16_t port;
	int r;

	if (!run->options.export)
		return 0;
	r = up_export_open(guard, &export, &port, error, sizeof(error));
	if (r < 0) {
		fprintf(stderr, "useprobe: --export: %s\n", error);
		return r;
	}
	fprintf(stderr,
		strchr(guard->address, ':') ? "useprobe: metrics at http://[%s]:%u/metrics\n"
					    : "useprobe: metrics at http://%s:%u/metrics\n",
		guard->address, port);
	return up_probe_add_sink(run->probe,
		(struct up_sink){ .name = "export", .self = export, .tick = up_export_tick, .close = up_export_close });
}

int run_open_view(struct run *run)
{
	const int live = run_live_open(run);
	struct winsize size = { 0 };

	if (live != 0)
		return live < 0 ? live : 0;

	/* The command's output stays readable: beside a command a table appears only when asked for. */
	if (run->options.command && !run->options.batch)
		return 0;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	run->batch = (struct up_batch){
		.out = stdout,
		.columns = size.ws_col,
		.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
	return up_probe_add_sink(
		run->probe, (struct up_sink){ .name = "standard output", .self = &run->batch, .tick = up_batch_tick });
}

/* The answer from what was just recorded: asked for by naming a load file, expected after a command. */
void run_print_answer(struct run *run)
{
	char *argv[] = { "report", run->csv_path, run->options.load_file ? "--load" : NULL, (char *)run->options.load_file,
		NULL };
	int argc = 0;

	if (!run->options.command && !run->options.load_file)
		return;
	if (!*run->csv_path) {
		fputs("useprobe: no answer without the samples: it is read from the CSV, which --no-csv left out\n", stderr);
		return;
	}
	while (argv[argc])
		argc++;
	up_cli_report(argc, argv);
}
