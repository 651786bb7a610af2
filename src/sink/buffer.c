#include "useprobe/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void up_buffer_done(struct up_buffer *buffer)
{
	if (!buffer)
		return;
	free(buffer->text);
	*buffer = (struct up_buffer){ 0 };
}

/* Room for N more bytes and the NUL. */
static bool reserve(struct up_buffer *buffer, size_t n)
{
	size_t room = buffer->room ? buffer->room : 4096;
	char *bigger;

	if (buffer->failed)
		return false;
	while (room - buffer->n <= n)
		room *= 2;
	if (room == buffer->room)
		return true;
	bigger = realloc(buffer->text, room);
	if (!bigger) {
		buffer->failed = true;
		return false;
	}
	buffer->text = bigger;
	buffer->room = room;
	return true;
}

void up_buffer_add_n(struct up_buffer *buffer, const char *text, size_t n)
{
	if (!reserve(buffer, n))
		return;
	memcpy(buffer->text + buffer->n, text, n);
	buffer->n += n;
	buffer->text[buffer->n] = '\0';
}

void up_buffer_add(struct up_buffer *buffer, const char *text)
{
	up_buffer_add_n(buffer, text, strlen(text));
}

void up_buffer_print_list(struct up_buffer *buffer, const char *format, va_list list)
{
	va_list again;
	int n;

	va_copy(again, list);
	n = vsnprintf(NULL, 0, format, list);
	if (n >= 0 && reserve(buffer, (size_t)n)) {
		vsnprintf(buffer->text + buffer->n, (size_t)n + 1, format, again);
		buffer->n += (size_t)n;
	}
	va_end(again);
}

void up_buffer_print(struct up_buffer *buffer, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	up_buffer_print_list(buffer, format, list);
	va_end(list);
}
