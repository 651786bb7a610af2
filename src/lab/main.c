/* uselab - the laboratory: servers with chosen bottlenecks, databases, load, all on the real kernel. */
#include <stdio.h>
#include <string.h>

#include "lab.h"
#include "scenario.h"

static const char usage[] =
	"usage: uselab serve|db|load|burn|scenario [OPTION]...\n"
	"\n"
	"  serve   an HTTP server whose bottleneck is chosen: CPU, workers, lock, pool, disk, memory, freeze\n"
	"  db      a database that serve can ask, with its own workers and service time\n"
	"  load    a load generator, open and closed loop, that says what it could not send\n"
	"  burn    a neighbour that takes CPU time and serves nobody\n"
	"  scenario  server, database, load, useprobe and its answer, end to end\n"
	"\n"
	"Try `uselab serve --help`. Every sub-command counts what it does exactly, so that a measurement from outside can be checked.\n";

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "serve", lab_serve_main },
		{ "db", lab_db_main },
		{ "load", lab_load_main },
		{ "burn", lab_burn_main },
		{ "scenario", lab_scenario_main },
	};

	if (argc < 2) {
		fputs(usage, stderr);
		return 2;
	}
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("uselab " UP_VERSION);
		return 0;
	}
	fprintf(stderr, "uselab: no sub-command `%s`; there are: serve, db, load, burn, scenario\n", argv[1]);
	return 2;
}
