/* Strict scanners over NUL-terminated kernel text: whole keys, whole numbers, a newline behind every line. A prefix of a file is an
 * error or the right answer, never a wrong number. */
#ifndef UP_SCAN_H
#define UP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "useprobe/compiler.h"

/* A number that may not be there. Zero-initialised means "not there". */
struct up_u64 {
	uint64_t n;
	bool has;
};
struct up_i64 {
	int64_t n;
	bool has;
};

/* Unsigned decimal at *CURSOR: digits only, no sign, no blank, fits 64 bits. Moves the cursor behind it. 0, -EBADMSG, -ERANGE. */
UP_MUST_CHECK int up_scan_u64(const char **cursor, uint64_t *ret);
UP_MUST_CHECK int up_scan_hex(const char **cursor, uint64_t *ret);
UP_MUST_CHECK int up_scan_i64(const char **cursor, int64_t *ret);
/* Decimal with an optional fraction ("12.50"), '.' in every locale; no exponent. */
UP_MUST_CHECK int up_scan_decimal(const char **cursor, double *ret);
/* Whole TEXT up to END of string is the number. */
UP_MUST_CHECK int up_scan_whole_u64(const char *text, uint64_t *ret);
UP_MUST_CHECK int up_scan_whole_decimal(const char *text, double *ret);

/* Next line of *CURSOR: *ret_line and *ret_len (without its newline), cursor behind the newline. true; false at the end. A last line
 * without newline is not returned and sets *ret_cut (may be NULL): the kernel ends every line it writes. */
bool up_scan_line(const char **cursor, const char **ret_line, size_t *ret_len, bool *ret_cut);

/* Value of "KEY value\n" in flat-keyed text (cpu.stat, memory.stat, memory.events). Missing key: 0 with *ret.has false.
 * -EBADMSG when the line of KEY is cut or is no number. */
UP_MUST_CHECK int up_scan_key(const char *text, const char *key, struct up_u64 *ret);

/* One number and a newline ("12345\n"). "max\n" gives has false and *ret_max true. -1 (v1 quota) likewise. -EBADMSG otherwise. */
UP_MUST_CHECK int up_scan_single(const char *text, struct up_u64 *ret, bool *ret_max);

/* Skips blanks and tabs. */
void up_scan_blanks(const char **cursor);
/* Skips LITERAL when it is next. true when it was. */
bool up_scan_literal(const char **cursor, const char *literal);

/* Members of a CPU list ("0-3,8,10-11\n"; empty = 0). 0 with the count, -EBADMSG. Kernel: lib/bitmap-str.c, %*pbl. */
UP_MUST_CHECK int up_scan_cpu_list(const char *text, unsigned *ret_count);

/* Copies the field LEN bytes long at FIELD, undoing the kernel's octal escapes (\040 \011 \012 \134; fs/seq_file.c mangle_path).
 * 0, or -ENAMETOOLONG. */
UP_MUST_CHECK int up_scan_unescape(const char *field, size_t len, char *ret, size_t size);

#endif
