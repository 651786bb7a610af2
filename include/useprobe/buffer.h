/* A text that grows: what the reports are written into. */
#ifndef UP_BUFFER_H
#define UP_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "useprobe/compiler.h"

/* All-zero is an empty buffer. Once memory ran out nothing is added any more and `failed` stays set. */
struct up_buffer {
	char *text; /* owned, NUL-terminated; NULL while nothing was added */
	size_t n, room;
	bool failed;
};

/* Frees the text; NULL is fine. */
void up_buffer_done(struct up_buffer *buffer);
void up_buffer_add_n(struct up_buffer *buffer, const char *text, size_t n);
void up_buffer_add(struct up_buffer *buffer, const char *text);
void up_buffer_print(struct up_buffer *buffer, const char *format, ...) UP_PRINTF(2, 3);
void up_buffer_print_list(struct up_buffer *buffer, const char *format, va_list list) UP_PRINTF(2, 0);

#endif
