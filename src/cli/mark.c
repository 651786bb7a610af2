/* useprobe mark: puts a mark into the CSV of a running probe. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mark_socket.h"
#include "useprobe/cli.h"
#include "useprobe/compiler.h"
#include "useprobe/scan.h"
#include "useprobe/sink.h"

#define EXIT_FAILED 1
#define EXIT_USAGE 2

static const char help[] =
	"useprobe mark - put a mark into the CSV of a running probe\n"
	"\n"
	"  useprobe mark [--pid PID] TEXT...\n"
	"\n"
	"  -p, --pid PID   which probe, when several are running\n"
	"      --help\n"
	"\n"
	"The row has scope event, resource mark, and in its detail text=TEXT and, when the next tick came later, at=TIME.\n"
	"Example: useprobe mark step 400/s; k6 run ...; useprobe mark end\n"
	"Exit status: 0 done, 1 the probe did not take it, 2 wrong use or no running probe.\n";

/* Joins the words of the text as a shell's echo does. 0, or -E2BIG. */
static int join(char **words, int count, char *ret, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < count; i++) {
		const int n = snprintf(ret + len, size - len, "%s%s", i ? " " : "", words[i]);

		if ((size_t)n >= size - len)
			return -E2BIG;
		len += (size_t)n;
	}
	return 0;
}

/* Command line of a process, safe for the terminal. */
static void print_command(pid_t pid)
{
	char path[64], raw[256], safe[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, raw, sizeof(raw) - 1);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!raw[i])
			raw[i] = ' ';
	raw[n > 0 ? n : 0] = '\0';
	fprintf(stderr, "  %d  %s\n", (int)pid,
		up_terminal_text(raw, strcmp(nl_langinfo(CODESET), "UTF-8") == 0, safe, sizeof(safe)));
}

/* The probe that is meant; NULL after a message. */
static const struct mark_probe *choose(const struct mark_probe *probes, size_t count, uint64_t pid)
{
	const struct mark_probe *only = NULL;
	size_t usable = 0;

	for (size_t i = 0; i < count; i++) {
		if (pid && (uint64_t)probes[i].pid == pid)
			return &probes[i];
		if (!probes[i].denied) {
			only = &probes[i];
			usable++;
		}
	}
	if (pid)
		fprintf(stderr, "useprobe mark: process %llu is no running probe\n", (unsigned long long)pid);
	else if (usable == 1)
		return only;
	else if (!count)
		fputs("useprobe mark: no running probe of this user was found; one that runs as root needs sudo\n", stderr);
	else if (!usable)
		fputs("useprobe mark: the running probe belongs to another user; try with sudo\n", stderr);
	else
		fputs("useprobe mark: several probes are running; choose one with --pid PID\n", stderr);
	for (size_t i = 0; i < count; i++)
		print_command(probes[i].pid);
	return NULL;
}

int up_cli_mark(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static struct mark_probe probes[MARK_PROBES_MAX];
	const struct mark_probe *probe;
	char text[MARK_TEXT_MAX + 1];
	uint64_t pid = 0;
	int option, r;

	optind = 1;
	while ((option = getopt_long(argc, argv, "+p:h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (option != 'p' || up_scan_whole_u64(optarg, &pid) < 0 || !pid) {
			if (option == 'p')
				fprintf(stderr, "useprobe mark: --pid %s: expected a process id\n", optarg);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		fputs("useprobe mark: expected a text; see useprobe mark --help\n", stderr);
		return EXIT_USAGE;
	}
	if (join(argv + optind, argc - optind, text, sizeof(text)) < 0) {
		fprintf(stderr, "useprobe mark: the text is longer than %d bytes\n", MARK_TEXT_MAX);
		return EXIT_USAGE;
	}
	probe = choose(probes, mark_probes_find(probes, UP_COUNT(probes)), pid);
	if (!probe)
		return EXIT_USAGE;
	r = mark_send(probe, text);
	if (r < 0)
		fprintf(stderr, "useprobe mark: probe %d: %s\n", (int)probe->pid,
			r == -EACCES   ? "it belongs to another user; try with sudo"
			: r == -EAGAIN ? "too many marks wait already (is it stopped?)"
				       : strerror(-r));
	return r < 0 ? EXIT_FAILED : 0;
}
