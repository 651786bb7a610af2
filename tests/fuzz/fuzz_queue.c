/* --queue arguments, first instructions and ELF files on arbitrary bytes: no crash, no over-read; what is accepted is what was written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/source/elf_functions.h"
#include "useprobe/queue_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), message[64];
	struct up_queue_spec spec;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	if (up_queue_spec_parse(text, &spec, message, sizeof(message)) == 0 && spec.kind == UP_QUEUE_FUNCTIONS &&
		(spec.binary[0] != '/' || !strstr(text, spec.put.symbol) || !strstr(text, spec.take.symbol)))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct up_elf_function functions[] = { { .symbol = "main" }, { .symbol = "a" } };
	struct up_elf_facts facts;

	parse(data, size);
	if (up_elf_endbr_bytes(data, size) > size)
		abort();
	(void)up_elf_step_x86(data, size);
	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	/* A function lies inside the file. */
	if (up_elf_functions_find(fd, functions, 2, &facts) == 0 && (functions[0].offset > size || functions[1].offset > size))
		abort();
	return 0;
}
