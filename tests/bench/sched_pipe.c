/* Attaches what sched_pipe.sh compares and waits for the end of its input.
 * usage: sched_pipe FILE.bpf.o PREFIX     programs of the file whose names begin with PREFIX
 *        sched_pipe delay GROUP...        the product's own program, the groups as targets */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/source/delay_bpf.h"
#include "useprobe/arena.h"
#include "useprobe/source.h"
#include "useprobe/target.h"

static int attach_file(const char *file, const char *prefix)
{
	struct bpf_object *object = bpf_object__open_file(file, NULL);
	struct bpf_program *program;

	if (!object)
		return -1;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, strncmp(bpf_program__name(program), prefix, strlen(prefix)) == 0);
	if (bpf_object__load(object) < 0)
		return -1;
	bpf_object__for_each_program(
		program, object) if (bpf_program__fd(program) >= 0 && !bpf_program__attach(program)) return -1;
	return 0;
}

static int attach_delay(int count, char **groups)
{
	static struct up_targets targets;
	static struct up_source source;
	static struct up_arena arena;
	struct up_delay_bpf *bpf;
	char message[512];

	if (up_arena_init(&arena) < 0 || up_source_open(&source, NULL) < 0 || up_targets_init(&targets, &source, &arena) < 0)
		return -1;
	for (int i = 0; i < count; i++)
		if (up_targets_add_name(&targets, &source, &arena, groups[i], false, message, sizeof(message)) < 0)
			return fprintf(stderr, "%s\n", message), -1;
	if (up_delay_bpf_new(0, &bpf, message, sizeof(message)) < 0)
		return fprintf(stderr, "%s\n", message), -1;
	return up_delay_bpf_retarget(bpf, &targets);
}

int main(int argc, char **argv)
{
	char none;

	if (argc < 3)
		return 2;
	if ((strcmp(argv[1], "delay") == 0 ? attach_delay(argc - 2, argv + 2) : attach_file(argv[1], argv[2])) < 0) {
		fprintf(stderr, "%s %s: not attached\n", argv[1], argv[2]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	return read(STDIN_FILENO, &none, 1) < 0;
}
