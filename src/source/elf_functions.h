/* Functions of an ELF file by name, as uprobes need them: the offset in the file and what stands there. Private to src/source. */
#ifndef UP_SOURCE_ELF_FUNCTIONS_H
#define UP_SOURCE_ELF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

/* How the kernel gets past the instruction under a probe (arch/x86/kernel/uprobes.c): some it carries out itself, for all others the task
 * is stepped through a copy, which costs two traps more. */
enum up_probe_step { UP_STEP_UNKNOWN, UP_STEP_EMULATED, UP_STEP_SINGLE };

struct up_elf_function {
	const char *symbol; /* looked for, borrowed */
	uint64_t offset; /* found: in the file, behind an endbr64 (a probe on which would be single-stepped); 0 = not there */
	enum up_probe_step step;
	bool ambiguous; /* the name stands for several places */
};

struct up_elf_facts {
	bool go; /* made by the Go compiler, whose stacks move: the kernel's return probes break them */
	bool symbols; /* it has a symbol table, not only the exported names */
};

/* Finds FUNCTIONS [count] in the ELF file FD (any offset; left open). 0, also when some were not found; -ENOEXEC when it is no 64-bit
 * ELF program or library of this machine; -EBADMSG when it is cut or malformed. */
UP_MUST_CHECK int up_elf_functions_find(int fd, struct up_elf_function *functions, size_t count, struct up_elf_facts *ret);

/* Bytes of endbr64 at CODE [len]: 4 or 0. */
size_t up_elf_endbr_bytes(const uint8_t *code, size_t len);
/* Step class of the x86-64 instruction at CODE [len]. */
enum up_probe_step up_elf_step_x86(const uint8_t *code, size_t len);

#endif
