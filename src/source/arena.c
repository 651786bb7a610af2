#include "useprobe/arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP_BYTES ((size_t)1 << 20) /* stays mapped over a reset, so that a steady tick causes no page faults */

int up_arena_init(struct up_arena *arena)
{
	void *base = mmap(NULL, UP_ARENA_MAX_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	*arena = (struct up_arena){ .base = base };
	return 0;
}

void up_arena_done(struct up_arena *arena)
{
	if (arena->base)
		munmap(arena->base, UP_ARENA_MAX_BYTES);
	*arena = (struct up_arena){ 0 };
}

void up_arena_reset(struct up_arena *arena)
{
	if (arena->used_bytes > arena->high_bytes)
		arena->high_bytes = arena->used_bytes;
	if (arena->high_bytes > KEEP_BYTES) {
		/* Fresh pages read as zero again, so the memory above the mark needs no clearing by up_arena_alloc either. */
		madvise(arena->base + KEEP_BYTES, arena->high_bytes - KEEP_BYTES, MADV_DONTNEED);
		arena->high_bytes = 0;
	}
	arena->used_bytes = 0;
}

void *up_arena_alloc(struct up_arena *arena, size_t bytes)
{
	const size_t start = (arena->used_bytes + 15) & ~(size_t)15;

	if (start > UP_ARENA_MAX_BYTES || bytes > UP_ARENA_MAX_BYTES - start)
		return NULL;
	arena->used_bytes = start + bytes;
	return memset(arena->base + start, 0, bytes);
}

char *up_arena_strndup(struct up_arena *arena, const char *text, size_t len)
{
	char *copy = up_arena_alloc(arena, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

char *up_arena_strdup(struct up_arena *arena, const char *text)
{
	return up_arena_strndup(arena, text, strlen(text));
}

char *up_arena_printf(struct up_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return NULL;
	text = up_arena_alloc(arena, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}
