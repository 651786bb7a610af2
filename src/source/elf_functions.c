#include "elf_functions.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define CODE_BYTES 16
#define PROGRAM_HEADERS_MAX 512

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

size_t up_elf_endbr_bytes(const uint8_t *code, size_t len)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return len >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}

/* What uprobe_init_insn() takes into its own hands: nop, push of a register, near jumps and calls. */
enum up_probe_step up_elf_step_x86(const uint8_t *code, size_t len)
{
	size_t i = 0;

	while (i < len && (code[i] == 0x66 || code[i] == 0xf2 || code[i] == 0xf3 || (code[i] & 0xf0) == 0x40))
		i++;
	if (i == len)
		return UP_STEP_UNKNOWN;
	if (code[i] == 0x0f && i + 1 < len)
		/* Long nop; the conditional jumps with 32 bits. */
		return code[i + 1] == 0x1f || (code[i + 1] & 0xf0) == 0x80 ? UP_STEP_EMULATED : UP_STEP_SINGLE;
	if (code[i] == 0x90 || (code[i] & 0xf8) == 0x50 || (code[i] & 0xf0) == 0x70 || code[i] == 0xe8 || code[i] == 0xe9 ||
		code[i] == 0xeb)
		return UP_STEP_EMULATED;
	return UP_STEP_SINGLE;
}

/* Place in the file of virtual ADDRESS, which has to be in a part that is mapped to be executed. false when there is none. */
static bool offset_of(Elf *elf, uint64_t address, uint64_t *ret)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count && i < PROGRAM_HEADERS_MAX; i++) {
		GElf_Phdr part;

		if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_LOAD || !(part.p_flags & PF_X))
			continue;
		if (address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz) {
			*ret = address - part.p_vaddr + part.p_offset;
			return *ret != 0;
		}
	}
	return false;
}

static void found(Elf *elf, int fd, const GElf_Sym *symbol, struct up_elf_function *function)
{
	uint8_t code[CODE_BYTES];
	uint64_t offset;
	ssize_t len;
	size_t skip;

	if (!offset_of(elf, symbol->st_value, &offset))
		return;
	len = pread(fd, code, sizeof(code), (off_t)offset);
	if (len <= 0)
		return;
	skip = up_elf_endbr_bytes(code, (size_t)len);
	offset += skip;
	if (function->offset && function->offset != offset)
		function->ambiguous = true;
	function->offset = offset;
	function->step = MACHINE == EM_X86_64 ? up_elf_step_x86(code + skip, (size_t)len - skip) : UP_STEP_UNKNOWN;
}

static int scan_table(
	Elf *elf, int fd, Elf_Scn *section, const GElf_Shdr *header, struct up_elf_function *functions, size_t count)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (!data)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			return -EBADMSG;
		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		for (size_t k = 0; name && k < count; k++)
			if (strcmp(name, functions[k].symbol) == 0)
				found(elf, fd, &symbol, &functions[k]);
	}
	return 0;
}

static int scan_sections(Elf *elf, int fd, struct up_elf_function *functions, size_t count, struct up_elf_facts *facts)
{
	Elf_Scn *section = NULL;
	size_t names;
	int r = 0;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return -EBADMSG;
	while (r == 0 && (section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header))
			return -EBADMSG;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (strcmp(name, ".gopclntab") == 0 || strcmp(name, ".note.go.buildid") == 0))
			facts->go = true;
		facts->symbols = facts->symbols || header.sh_type == SHT_SYMTAB;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			r = scan_table(elf, fd, section, &header, functions, count);
	}
	return r;
}

int up_elf_functions_find(int fd, struct up_elf_function *functions, size_t count, struct up_elf_facts *ret)
{
	struct up_elf_facts facts = { 0 };
	GElf_Ehdr header;
	Elf *elf;
	int r;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || gelf_getclass(elf) != ELFCLASS64 ||
		(header.e_type != ET_EXEC && header.e_type != ET_DYN) || header.e_machine != MACHINE) {
		elf_end(elf);
		return -ENOEXEC;
	}
	for (size_t i = 0; i < count; i++)
		functions[i] = (struct up_elf_function){ .symbol = functions[i].symbol };
	r = scan_sections(elf, fd, functions, count, &facts);
	elf_end(elf);
	if (r == 0)
		*ret = facts;
	return r;
}
