/* Chooses the subcommand. Each one lives in src/cli and prints its own messages. */
#include <locale.h>
#include <string.h>

#include "useprobe/cli.h"
#include "useprobe/compiler.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", up_cli_run },
	{ "latency", up_cli_latency },
	{ "report", up_cli_report },
	{ "compare", up_cli_compare },
	{ "replay", up_cli_replay },
	{ "mark", up_cli_mark },
	{ "list", up_cli_list },
	{ "doctor", up_cli_doctor },
};

int main(int argc, char **argv)
{
	/* Characters follow the user's locale, numbers never do: a decimal comma has no place in a CSV. */
	setlocale(LC_CTYPE, "");
	for (size_t i = 0; argc > 1 && i < UP_COUNT(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	return up_cli_run(argc, argv);
}
